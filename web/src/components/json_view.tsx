// A payload as a folded tree. A branch is built when it is opened; wide ones come a hundred members at a time, long texts
// are cut, and nothing of it is ever markup.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../lib/format';
import { ExactNumber, formatJson, type Json } from '../lib/lossless_json';
import { Copy } from './copy';
import { LongText, marked } from './text';

const membersAtOnce = 100;
const textShown = 300;

function kindOf(value: Json): 'object' | 'array' | 'leaf' {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return 'leaf';
  return Array.isArray(value) ? 'array' : 'object';
}

function Leaf({ value }: { value: Json }): JSX.Element {
  if (typeof value === 'string') {
    if (value.length > textShown) return <span class="json-text"><LongText value={value} first={textShown} /></span>;
    return <bdi class="json-text">"{marked(value)}"</bdi>;
  }
  if (value instanceof ExactNumber) return <span class="json-number">{value.text.length > 400 ? value.text.slice(0, 400) + '…' : value.text}</span>;
  return <span class={typeof value === 'number' ? 'json-number' : 'json-word'}>{String(value)}</span>;
}

function preview(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${count(value.length)} ]`;
  const names = Object.keys(value as object);
  return names.length === 0 ? '{}' : `{ ${count(names.length)} }`;
}

function Node({ name, value, depth, open }: { name: string | null; value: Json; depth: number; open: number }): JSX.Element {
  const kind = kindOf(value);
  const members: [string, Json][] =
    kind === 'array' ? (value as Json[]).map((item, index) => [String(index), item]) : kind === 'object' ? Object.entries(value as object) : [];
  const [isOpen, setOpen] = useState(depth < open && members.length <= membersAtOnce);
  const [shown, setShown] = useState(membersAtOnce);
  const label = name === null ? null : <bdi class="json-name">{marked(name.length > 120 ? name.slice(0, 120) + '…' : name)}</bdi>;
  if (kind === 'leaf' || members.length === 0) {
    return (
      <li class="json-leaf">
        {label}
        {label && <span class="json-colon">:</span>}
        {kind === 'leaf' ? <Leaf value={value} /> : <span class="json-word">{preview(value)}</span>}
      </li>
    );
  }
  return (
    <li>
      <button type="button" class="json-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true" class="json-arrow">{isOpen ? '▾' : '▸'}</span>
        {label}
        {label && <span class="json-colon">:</span>}
        <span class="dim">{preview(value)}</span>
      </button>
      {isOpen && (
        <ul>
          {members.slice(0, shown).map(([key, member]) => (
            <Node key={key} name={kind === 'array' ? key : key} value={member} depth={depth + 1} open={open} />
          ))}
          {members.length > shown && (
            <li>
              <button type="button" class="link" onClick={() => setShown(shown + membersAtOnce)}>
                show {count(Math.min(membersAtOnce, members.length - shown))} of {count(members.length - shown)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

export function JsonView({ value, title, empty = 'nothing' }: { value: Json | undefined; title: string; empty?: string }): JSX.Element {
  const [raw, setRaw] = useState(false);
  const nothing = value === undefined || value === null;
  return (
    <section class="json" aria-label={title}>
      <header>
        <h3>{title}</h3>
        {!nothing && (
          <>
            <button type="button" class="ghost" aria-pressed={raw} onClick={() => setRaw(!raw)}>text</button>
            <Copy text={() => formatJson(value)} label={`Copy ${title.toLowerCase()}`} />
          </>
        )}
      </header>
      {nothing ? (
        <p class="dim">{value === null ? 'null' : empty}</p>
      ) : raw ? (
        <LongText value={formatJson(value)} first={20_000} />
      ) : (
        <ul class="json-tree mono"><Node name={null} value={value} depth={0} open={3} /></ul>
      )}
    </section>
  );
}
