// Loading, empty, error and toast: each says what to do next.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, Unreachable } from '../api/http';
import { Store, useStore } from '../lib/store';
import { Icon } from './icons';
import { Text } from './text';

// Words instead of a spinner, and only when the wait is long enough to be noticed.
export function Loading({ what }: { what: string }): JSX.Element {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 180);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading" role="status">{shown ? `Loading ${what}…` : ''}</p>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

const advice: Record<string, string> = {
  NotFound: 'It may have been deleted by its retention, or belong to another namespace.',
  StoreBusy: 'The store is busy or away. The server answers again by itself; /readyz says what is wrong.',
  QueueDraining: 'The queue drains: resume it, or send this again later.',
  WrongStatus: 'Its status has changed meanwhile: reload, then decide.',
  PayloadTooLarge: 'Make the payload smaller, or raise [limits] payload of the server.',
};

export function adviceFor(error: unknown): string {
  if (error instanceof Unreachable) return 'Nothing was changed as far as this page knows. It tries again by itself when the server is back.';
  if (!(error instanceof ApiError)) return 'Reload the page. If it stays, the console of the browser says more.';
  if (error.status === 401) return 'Sign in with a valid token; `hapax token create` makes one.';
  if (error.status === 403) return 'This token lacks the scope for it. Ask for one that has it, or sign in with another.';
  if (error.status === 503) return 'The server is there, its store is not, or has too much to do. Wait a moment; /readyz says which part.';
  return advice[error.error] ?? '';
}

export function ErrorNote({ error, retry, what }: { error: unknown; retry?: (() => void) | undefined; what?: string }): JSX.Element | null {
  if (error === undefined || error === null) return null;
  const message = error instanceof Error ? error.message : String(error);
  const hint = adviceFor(error);
  return (
    <div class="note note-error" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{what ? `${what} did not work: ` : ''}{error instanceof ApiError ? error.error : 'No answer'}</strong>{' '}
          <Text value={message} />
        </p>
        {hint && <p class="dim">{hint}</p>}
        {retry && <button type="button" class="small" onClick={retry}>Try again</button>}
      </div>
    </div>
  );
}

export function OlderServer({ what, route }: { what: string; route: string }): JSX.Element {
  return (
    <div class="note">
      <p>This server does not offer {what} (<code>{route}</code>). A newer release of hapax does.</p>
    </div>
  );
}

const toasts = new Store<{ id: number; text: string; bad: boolean }[]>([]);
let number = 0;

export function toast(text: string, bad = false): void {
  const id = ++number;
  toasts.update((list) => [...list.slice(-3), { id, text, bad }]);
  setTimeout(() => toasts.update((list) => list.filter((each) => each.id !== id)), bad ? 10_000 : 5000);
}

export function Toasts(): JSX.Element {
  const list = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {list.map((each) => (
        <p key={each.id} class={each.bad ? 'toast bad' : 'toast'}><Text value={each.text} /></p>
      ))}
    </div>
  );
}
