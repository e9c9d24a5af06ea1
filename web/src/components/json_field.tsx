// A text area for JSON that says where it is not JSON, while it is typed.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { formatJson, parseJson, type Json } from '../lib/lossless_json';

export function jsonOf(text: string): { good: true; value: Json } | { good: false; why: string } {
  try {
    return { good: true, value: parseJson(text) };
  } catch (error) {
    return { good: false, why: (error as Error).message };
  }
}

export function JsonField({ label, value, onChange, rows = 8 }: { label: string; value: string; onChange: (text: string) => void; rows?: number }): JSX.Element {
  const state = useMemo(() => jsonOf(value), [value]);
  const id = `json-${label.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <div class="field">
      <label for={id}>{label} <span class="dim">JSON</span></label>
      <textarea
        id={id} class="mono" rows={rows} spellcheck={false} value={value} aria-invalid={!state.good} aria-describedby={`${id}-note`}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={`${id}-note`} class={state.good ? 'dim small-text' : 'bad small-text'} role={state.good ? undefined : 'status'}>
        {state.good ? <button type="button" class="link" onClick={() => onChange(formatJson(state.value))}>lay out</button> : `Not JSON yet: ${state.why}`}
      </p>
    </div>
  );
}
