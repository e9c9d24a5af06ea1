// The store's health: doctor where the server has it, else what /readyz says.
import type { JSX } from 'preact';
import { address, get } from '../api/http';
import type { Check } from '../api/types';
import { ErrorNote, Loading } from '../components/notes';
import { StatusBadge } from '../components/status';
import { Text } from '../components/text';
import { useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';

// 503 is an answer here, not a failure.
async function readiness(signal: AbortSignal): Promise<Check[]> {
  const response = await fetch(address('readyz'), { signal, cache: 'no-store', credentials: 'omit' });
  const told = (await response.json()) as { checks: Record<string, string> };
  return Object.entries(told.checks).map(([name, text]) => ({ name, level: text === 'ok' ? 'ok' : name === 'durability' ? 'warning' : 'error', text }));
}

export function DoctorTab(): JSX.Element {
  const has = useHas('/v1/doctor');
  const may = useMay('admin');
  const whole = has === true && may;
  const read = useResource(`doctor ${String(whole)}`, async (signal) => (whole ? (await get<{ checks: Check[] }>('v1/doctor', {}, { signal })).checks : readiness(signal)), { enabled: has !== undefined });
  return (
    <>
      <div class="section-head">
        <p class="dim">{whole ? 'What hapax doctor finds.' : 'What /readyz says; hapax doctor on the command line finds more.'}</p>
        <button type="button" onClick={read.reload}>Look again</button>
      </div>
      <ErrorNote error={read.data ? undefined : read.error} retry={read.reload} />
      {!read.data ? !read.error && <Loading what="the checks" /> : (
        <ul class="checks">
          {read.data.map((check) => (
            <li key={check.name + check.text}>
              <StatusBadge status={check.level} />
              <div><strong><Text value={check.name} /></strong> <Text value={check.text} />{check.remedy && <p class="dim"><Text value={check.remedy} /></p>}</div>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
