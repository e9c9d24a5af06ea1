// A read-only SQL prompt, for server-wide operators: it reads all namespaces.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import type { SqlAnswer } from '../api/types';
import { ErrorNote } from '../components/notes';
import { Text } from '../components/text';
import { counted, duration } from '../lib/format';
import { formatJson } from '../lib/lossless_json';
import { useAct } from '../lib/use_resource';
import { query, setParams } from '../state/router';

const usual = "SELECT queue, status, count(*) AS number\nFROM executions\nGROUP BY queue, status\nORDER BY number DESC";

export function SqlTab(): JSX.Element {
  const [text, setText] = useState(query().get('q') ?? usual);
  const [answer, setAnswer] = useState<SqlAnswer | null>(null);
  const { busy, error, run } = useAct();
  const ask = (): void => void run(async () => {
    setParams({ q: text }, true);
    setAnswer(await post<SqlAnswer>('v1/sql', { query: text }, { lossless: true }));
  });
  return (
    <>
      <p class="dim">Read only, all namespaces, at most 5 s and 1,000 rows. Every statement leaves an audit entry.</p>
      <form class="composer" onSubmit={(event) => { event.preventDefault(); ask(); }}>
        <label class="field"><span>Statement <span class="dim">Ctrl Enter runs it</span></span>
          <textarea
            class="mono" rows={8} spellcheck={false} value={text} maxLength={20_000} onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); } }}
          />
        </label>
        <button type="submit" class="primary" disabled={busy}>{busy ? 'Asking…' : 'Run'}</button>
      </form>
      <ErrorNote error={error} what="The statement" />
      {answer && (
        <>
          <p class="dim pager" role="status">{counted(answer.rows.length, 'row')} in {duration(answer.seconds)}{answer.truncated && '; there are more: only the first are shown'}</p>
          <div class="table-holder" tabIndex={0}>
            <table class="table sql" aria-label="Answer">
              <thead><tr>{answer.columns.map((column, index) => <th key={index} scope="col"><Text value={column} /></th>)}</tr></thead>
              <tbody>{answer.rows.map((row, index) => <tr key={index}>{row.map((value, at) => <td key={at} class="mono"><Text value={value === null ? null : typeof value === 'string' ? value : formatJson(value, 0)} /></td>)}</tr>)}</tbody>
            </table>
          </div>
        </>
      )}
    </>
  );
}
