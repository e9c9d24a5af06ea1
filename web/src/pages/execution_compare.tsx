// Two runs, or two attempts, side by side with their differences. The address says which.
import type { JSX } from 'preact';
import { get } from '../api/http';
import type { Attempt, Execution, ExecutionPage } from '../api/types';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { LongText, Text } from '../components/text';
import { duration } from '../lib/format';
import { differences, type Difference } from '../lib/json_diff';
import { formatJson, type Json } from '../lib/lossless_json';
import { useResource } from '../lib/use_resource';
import { query, setParams } from '../state/router';

function Side({ value }: { value: Json | undefined }): JSX.Element {
  if (value === undefined) return <span class="none">absent</span>;
  return typeof value === 'string' ? <LongText value={value} first={400} /> : <LongText value={formatJson(value)} first={400} />;
}

function Differences({ list, more, left, right }: { list: Difference[]; more: boolean; left: string; right: string }): JSX.Element {
  if (list.length === 0) return <Empty title="No differences"><p>Input, outcome and settings are the same.</p></Empty>;
  return (
    <>
      <table class="diff">
        <thead><tr><th scope="col">Where</th><th scope="col">{left}</th><th scope="col">{right}</th></tr></thead>
        <tbody>
          {list.map((each) => (
            <tr key={each.path}>
              <th scope="row"><Text value={each.path} mono /></th>
              <td class={each.left === undefined ? '' : 'was'}><Side value={each.left} /></td>
              <td class={each.right === undefined ? '' : 'is'}><Side value={each.right} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {more && <p class="dim">There are more differences than these.</p>}
    </>
  );
}

// Members that differ between any two runs and say nothing.
const left_out = new Set(['id', 'attempts', 'journal', 'fence', 'session', 'created_at', 'run_at', 'started_at', 'finished_at', 'expires_at', 'retried_as', 'retry_of', 'namespace']);

function comparable(e: Execution): Json {
  const members = Object.fromEntries(Object.entries(e).filter(([name]) => !left_out.has(name))) as Record<string, Json>;
  const from = e.started_at ? Date.parse(e.started_at) : null;
  members.waited = from === null ? null : duration((from - Date.parse(e.created_at)) / 1000);
  members.ran = from === null || !e.finished_at ? null : duration((Date.parse(e.finished_at) - from) / 1000);
  return members;
}

function attemptValue(attempt: Attempt): Json {
  const ran = attempt.started_at && attempt.ended_at ? duration((Date.parse(attempt.ended_at) - Date.parse(attempt.started_at)) / 1000) : null;
  return { outcome: attempt.outcome, worker: attempt.worker, ran, error: attempt.error as unknown as Json };
}

export function CompareTab({ e }: { e: Execution }): JSX.Element {
  const params = query();
  const with_ = params.get('with');
  const numbers = params.get('attempts')?.split(',').map(Number);
  const attempts = e.attempts ?? [];
  const runs = useResource(`runs of ${e.identity ?? ''}`, (signal) => get<ExecutionPage>('v1/executions', { identity: e.identity, limit: 50 }, { signal }), { enabled: e.identity !== null });
  const others = (runs.data?.executions ?? []).filter((each) => each.id !== e.id);
  const other = useResource(`compared ${with_ ?? ''}`, (signal) => get<Execution>(`v1/executions/${encodeURIComponent(with_ ?? '')}`, {}, { signal, lossless: true }), { enabled: with_ !== null });
  const pair = numbers ? numbers.map((number) => attempts.find((attempt) => attempt.number === number)) : [];
  return (
    <>
      <div class="compare-choice">
        <label class="field">
          <span>Another run</span>
          <select value={with_ ?? ''} onChange={(event) => setParams({ with: event.currentTarget.value || null, attempts: null })}>
            <option value="">{others.length === 0 ? 'no other run of its identity is kept' : 'choose one'}</option>
            {others.map((each) => <option key={each.id} value={each.id}>run {each.run}, {each.status}, {each.created_at.slice(0, 19).replace('T', ' ')}</option>)}
            {with_ !== null && !others.some((each) => each.id === with_) && <option value={with_}>{with_}</option>}
          </select>
        </label>
        <form
          class="field"
          onSubmit={(event) => {
            event.preventDefault();
            const id = String(new FormData(event.currentTarget).get('id') ?? '').trim();
            if (id) setParams({ with: id, attempts: null });
          }}
        >
          <label for="compare-id">Or any execution's id</label>
          <input id="compare-id" name="id" class="mono" placeholder="0193…" maxLength={36} />
        </form>
        {attempts.length > 1 && (
          <label class="field">
            <span>Or two attempts</span>
            <select value={params.get('attempts') ?? ''} onChange={(event) => setParams({ attempts: event.currentTarget.value || null, with: null })}>
              <option value="">choose two</option>
              {attempts.slice(0, -1).map((attempt, index) => {
                const next = attempts[index + 1]!;
                return <option key={attempt.number} value={`${attempt.number},${next.number}`}>{attempt.number} ({attempt.outcome}) and {next.number} ({next.outcome})</option>;
              })}
            </select>
          </label>
        )}
      </div>
      {with_ !== null && (other.data ? <Differences {...differences(comparable(e), comparable(other.data))} left={`this, run ${e.run}`} right={`run ${other.data.run}`} />
        : other.error ? <ErrorNote error={other.error} retry={other.reload} what="Reading the other run" /> : <Loading what="the other run" />)}
      {numbers && (pair[0] && pair[1]
        ? <Differences {...differences(attemptValue(pair[0]), attemptValue(pair[1]))} left={`attempt ${pair[0].number}`} right={`attempt ${pair[1].number}`} />
        : <Empty title="These attempts are not there" />)}
      {with_ === null && !numbers && <Empty title="Choose what to compare"><p>Two runs show their differences in input, outcome and settings; two attempts in worker, time and error. The address keeps the choice.</p></Empty>}
    </>
  );
}
