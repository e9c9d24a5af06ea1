import type { JSX } from 'preact';
import type { Attempt, Execution } from '../api/types';
import { AttemptsChart } from '../components/attempts_chart';
import { Empty } from '../components/notes';
import { StatusBadge } from '../components/status';
import { LongText, Text } from '../components/text';
import { At, Took } from '../components/time';
import { counted } from '../lib/format';

export function AttemptsTab({ e }: { e: Execution }): JSX.Element {
  const attempts = [...(e.attempts ?? [])].reverse();
  if (attempts.length === 0) {
    return <Empty title="It has not begun"><p>The summary says why. Its first attempt stands here when a worker claims it.</p></Empty>;
  }
  return (
    <>
      <AttemptsChart e={e} />
      <p class="dim">{counted(attempts.length, 'attempt')}, newest first; at most {e.max_attempts} that fail.</p>
      <ol class="attempts">
        {attempts.map((attempt) => <li key={`${attempt.number} ${attempt.started_at ?? ''}`}><OneAttempt attempt={attempt} /></li>)}
      </ol>
    </>
  );
}

function OneAttempt({ attempt }: { attempt: Attempt }): JSX.Element {
  return (
    <article>
      <header>
        <strong class="num">{attempt.number}</strong>
        <StatusBadge status={attempt.outcome} />
        <span class="dim">on</span> <Text value={attempt.worker} />
        <span class="dim">at</span> <At at={attempt.started_at} />
        <span class="dim">for</span> <Took from={attempt.started_at} to={attempt.ended_at} />
      </header>
      {attempt.error && (
        <div class="error-box">
          <p><strong><Text value={attempt.error.type} /></strong></p>
          <LongText value={attempt.error.message} />
          {attempt.error.detail && <details><summary>detail</summary><LongText value={attempt.error.detail} first={4000} /></details>}
        </div>
      )}
    </article>
  );
}
