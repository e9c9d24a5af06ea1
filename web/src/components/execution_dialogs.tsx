// The questions behind the acts on one execution. A refused act leaves its dialog open with what was typed.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import type { Admission, Execution } from '../api/types';
import { formatJson, parseJson, type Json } from '../lib/lossless_json';
import { useAct } from '../lib/use_resource';
import { useTakes } from '../state/me';
import { go, href } from '../state/router';
import { Ask, Dialog } from './dialog';
import { JsonField, jsonOf } from './json_field';
import { JsonView } from './json_view';
import { ErrorNote, toast } from './notes';
import { Text } from './text';

interface Props {
  e: Execution;
  onClose: () => void;
}

export function CancelDialog({ e, onClose, onDone }: Props & { onDone: () => void }): JSX.Element {
  const [reason, setReason] = useState('');
  return (
    <Ask
      title="Cancel this execution?" yes="Cancel it" danger onClose={onClose}
      act={async () => {
        await post(`v1/executions/${e.id}/cancel`, reason ? { reason } : {});
        toast(e.status === 'running' ? 'Its worker is told to stop' : 'Cancelled');
        onDone();
      }}
    >
      <p>{e.status === 'running' ? 'It runs: its worker is told to stop, and it ends when the handler does.' : 'It has not begun, or waits: it ends at once.'}</p>
      <label class="field"><span>Reason, kept with it</span><input data-first value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} /></label>
    </Ask>
  );
}

export function RetryDialog({ e, onClose, edited }: Props & { edited?: boolean }): JSX.Element {
  const takesInput = useTakes('/v1/executions/{id}/retry', 'input');
  const [edit, setEdit] = useState(edited === true);
  const [newKey, setNewKey] = useState(false);
  const before = formatJson(e.input ?? null);
  const [text, setText] = useState(before);
  const parsed = jsonOf(text);
  return (
    <Ask
      title="Run it again?" yes={edit ? 'Run with this input' : 'Run again'} wide={edit} disabled={edit && !parsed.good} onClose={onClose}
      act={async () => {
        const members = [
          ...(newKey ? ['"new_effect_key":true'] : []),
          // The text itself is sent, so that no number is rounded.
          ...(edit ? [`"input":${formatJson(parseJson(text), 0)}`] : []),
        ];
        const made = await post<Admission>(`v1/executions/${e.id}/retry`, undefined, { rawBody: `{${members.join(',')}}` });
        toast('A new run was made');
        go(href(`executions/${made.id}`));
      }}
    >
      <fieldset class="choices">
        <legend class="sr">How</legend>
        {!edited && <label class="check"><input type="radio" name="how" checked={!newKey && !edit} onChange={() => { setNewKey(false); setEdit(false); }} data-first /> As it is, with the same effect key: an effect that has happened is not repeated by receivers that know the key</label>}
        {!edited && <label class="check"><input type="radio" name="how" checked={newKey && !edit} onChange={() => { setNewKey(true); setEdit(false); }} /> With a new effect key: receivers take the effect for a new one</label>}
        {takesInput && <label class="check"><input type="radio" name="how" checked={edit} onChange={() => { setEdit(true); setNewKey(false); }} /> With an edited input: a new execution, linked to this one</label>}
      </fieldset>
      {edit && <JsonField label="Input" value={text} onChange={setText} rows={14} />}
      {edit && parsed.good && text === before && <p class="dim">The input is unchanged so far.</p>}
    </Ask>
  );
}

export function DiscardDialog({ e, onClose, onDone }: Props & { onDone: () => void }): JSX.Element {
  return (
    <Ask
      title="Discard this dead letter?" yes="Discard 1" danger onClose={onClose}
      act={async () => {
        await post('v1/dead-letters/discard', { ids: [e.id] });
        toast('Discarded: its history stays');
        onDone();
      }}
    >
      <p>It leaves the dead-letter list; its history stays until its retention is over.</p>
    </Ask>
  );
}

export function NoteDialog({ e, onClose, onDone }: Props & { onDone: () => void }): JSX.Element {
  const [note, setNote] = useState(e.note ?? '');
  return (
    <Ask title="Note" yes="Keep it" onClose={onClose} act={async () => { await post('v1/dead-letters/annotate', { ids: [e.id], note }); onDone(); }}>
      <label class="field"><span>For whoever looks next</span><textarea data-first rows={4} maxLength={2000} value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
    </Ask>
  );
}

export function SignalDialog({ e, name: given, onClose, onDone }: Props & { name: string; onDone: () => void }): JSX.Element {
  const waiting = (e.journal ?? []).filter((entry) => entry.kind === 'signal' && entry.status === 'waiting').map((entry) => entry.name ?? '');
  const [name, setName] = useState(given || waiting[0] || '');
  const [text, setText] = useState('null');
  const [once, setOnce] = useState('');
  return (
    <Ask
      title="Send a signal" yes="Send it" disabled={name === '' || !jsonOf(text).good} wide onClose={onClose}
      act={async () => {
        await post(`v1/executions/${e.id}/signals/${encodeURIComponent(name)}`, undefined, { rawBody: text, query: { once } });
        toast(`Signal ${name} was sent`);
        onDone();
      }}
    >
      <label class="field">
        <span>Name{waiting.length > 0 && <span class="dim"> · it waits for <Text value={waiting.join(', ')} /></span>}</span>
        <input data-first list="waiting-signals" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <datalist id="waiting-signals">{waiting.map((each) => <option key={each} value={each} />)}</datalist>
      </label>
      <JsonField label="Payload" value={text} onChange={setText} rows={6} />
      <label class="field"><span>Key: a second signal under it changes nothing (optional)</span><input maxLength={255} value={once} onInput={(event) => setOnce(event.currentTarget.value)} /></label>
    </Ask>
  );
}

export function QueryDialog({ e, onClose }: Props): JSX.Element {
  const [name, setName] = useState('');
  const [text, setText] = useState('null');
  const [answer, setAnswer] = useState<Json | undefined>();
  const { busy, error, run } = useAct();
  return (
    <Dialog title="Ask the workflow" wide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(async () => {
            setAnswer(undefined);
            const told = await post<{ answer: Json }>(`v1/executions/${e.id}/queries/${encodeURIComponent(name)}`, undefined, { rawBody: text, lossless: true, timeoutMs: 20_000 });
            setAnswer(told.answer);
          });
        }}
      >
        <p class="dim">A worker that has the workflow's function answers; nothing of the run changes.</p>
        <label class="field"><span>Query, as the code names it</span><input data-first required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <JsonField label="Question" value={text} onChange={setText} rows={3} />
        <ErrorNote error={error} />
        {answer !== undefined && <JsonView title="Answer" value={answer} />}
        <div class="dialog-foot">
          <button type="button" onClick={onClose}>Close</button>
          <button type="submit" class="primary" disabled={busy || !jsonOf(text).good}>{busy ? 'Asking…' : 'Ask'}</button>
        </div>
      </form>
    </Dialog>
  );
}

export function ForkDialog({ e, steps, onClose }: Props & { steps: number }): JSX.Element {
  const [id, setId] = useState(`${e.task_id ?? e.task}-fork`);
  return (
    <Ask
      title="Fork from here?" yes="Fork" onClose={onClose}
      act={async () => {
        const made = await post<Admission>(`v1/executions/${e.id}/fork`, { steps, workflow_id: id });
        toast('The fork was started');
        go(href(`executions/${made.id}`));
      }}
    >
      <p>A new run begins with the first {steps} entries of this journal behind it and goes on from there with the present code. This run stays as it is.</p>
      <label class="field"><span>Workflow id of the new run</span><input data-first required maxLength={255} value={id} onInput={(event) => setId(event.currentTarget.value)} /></label>
    </Ask>
  );
}
