// Reads something for a component: again when its key changes, every so often, and on request. Old data stay on the
// screen while new ones are read.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isAbort } from '../api/http';

export interface Resource<T> {
  data: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
  change: (next: T) => void;
}

export interface ReadOptions {
  everyMs?: number; // only while the page is visible
  enabled?: boolean;
}

export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>, options: ReadOptions = {}): Resource<T> {
  const { everyMs, enabled = true } = options;
  const [state, setState] = useState<{ key: string; data: T | undefined; error: unknown; loading: boolean }>({
    key, data: undefined, error: undefined, loading: enabled,
  });
  const reader = useRef(read);
  reader.current = read;
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);

  useEffect(() => {
    if (!enabled) return;
    const cancel = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (): void => {
      if (everyMs === undefined || cancel.signal.aborted) return;
      timer = setTimeout(() => (document.hidden ? again() : void load()), everyMs);
    };
    const load = async (): Promise<void> => {
      try {
        const data = await reader.current(cancel.signal);
        if (!cancel.signal.aborted) setState({ key, data, error: undefined, loading: false });
      } catch (error) {
        if (cancel.signal.aborted || isAbort(error)) return;
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error, loading: false }));
      }
      again();
    };
    setState((before) => ({ ...before, key, loading: true, ...(before.key === key ? {} : { data: undefined, error: undefined }) }));
    void load();
    return () => {
      clearTimeout(timer);
      cancel.abort(new DOMException('left', 'AbortError'));
    };
  }, [key, round, everyMs, enabled]);

  const change = useCallback((next: T) => setState((before) => ({ ...before, data: next })), []);
  const fits = state.key === key;
  return {
    data: fits ? state.data : undefined,
    error: fits ? state.error : undefined,
    loading: enabled && (!fits || state.loading),
    reload,
    change,
  };
}

// Does something on request, once at a time, and keeps its error for the place that asked.
export function useAct(): { busy: boolean; error: unknown; run: (act: () => Promise<void>) => Promise<boolean>; clear: () => void } {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  const busy = useRef(false);
  const run = useCallback(async (act: () => Promise<void>) => {
    if (busy.current) return false;
    busy.current = true;
    setState({ busy: true, error: undefined });
    try {
      await act();
      setState({ busy: false, error: undefined });
      return true;
    } catch (error) {
      setState({ busy: false, error });
      return false;
    } finally {
      busy.current = false;
    }
  }, []);
  const clear = useCallback(() => setState({ busy: false, error: undefined }), []);
  return { ...state, run, clear };
}
