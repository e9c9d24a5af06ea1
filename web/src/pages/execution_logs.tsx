// Log lines of the attempts, followed while it runs.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, isAbort } from '../api/http';
import type { Execution, LogLine } from '../api/types';
import { Empty, ErrorNote } from '../components/notes';
import { Text } from '../components/text';
import { clock } from '../lib/format';
import { formatJson } from '../lib/lossless_json';
import { useStore } from '../lib/store';
import { settings } from '../state/settings';

const linesMost = 5000;
const followEvery = 1000;

export function LogsTab({ e }: { e: Execution }): JSX.Element {
  const { zone } = useStore(settings);
  const [lines, setLines] = useState<LogLine[]>([]);
  const [dropped, setDropped] = useState(0);
  const [error, setError] = useState<unknown>();
  const [loaded, setLoaded] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const going = e.status === 'running' || e.status === 'pending';
  useEffect(() => {
    const cancel = new AbortController();
    let after: string | number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLines([]);
    const read = async (): Promise<void> => {
      try {
        const page: { lines: LogLine[]; dropped: number; next: string | number | null } = await get(`v1/executions/${e.id}/logs`, { after }, { signal: cancel.signal });
        after = page.next ?? after;
        setDropped(page.dropped);
        if (page.lines.length > 0) setLines((before) => [...before, ...page.lines].slice(-linesMost));
        setError(undefined);
        setLoaded(true);
        if (page.lines.length === 0 && !going) return;
      } catch (problem) {
        if (cancel.signal.aborted || isAbort(problem)) return;
        setError(problem);
      }
      timer = setTimeout(() => void read(), followEvery);
    };
    void read();
    return () => {
      clearTimeout(timer);
      cancel.abort(new DOMException('left', 'AbortError'));
    };
  }, [e.id, going]);
  useEffect(() => {
    // Follows the end only for somebody who is there.
    const at = end.current;
    if (at && at.getBoundingClientRect().top < innerHeight + 200) at.scrollIntoView({ block: 'end' });
  }, [lines]);
  return (
    <>
      <ErrorNote error={error} what="Reading the logs" />
      {dropped > 0 && <p class="note">{dropped} earlier lines were dropped: an attempt keeps the last 256 lines and 64 KiB.</p>}
      {loaded && lines.length === 0 && <Empty title="No log lines"><p>Handlers write them with <code>ctx.log(level, message, fields)</code>; programs of <code>hapax work --exec</code> on standard error.</p></Empty>}
      <div class="log mono" role="log" aria-label="Log of the attempts">
        {lines.map((line, index) => (
          <div key={index} class={`log-line level-${/^(debug|info|warn|warning|error)$/.test(line.level) ? line.level : 'other'}`}>
            <span class="num dim">{clock(Date.parse(line.at), zone, true)}</span>
            <span class="log-level"><Text value={line.level} /></span>
            <span class="dim num">#{line.attempt}</span>
            <span class="log-message"><Text value={line.message} />{line.fields && <span class="dim"> <Text value={formatJson(line.fields, 0)} /></span>}</span>
          </div>
        ))}
        <div ref={end} />
      </div>
    </>
  );
}
