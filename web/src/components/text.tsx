// Text that came from outside: only ever text nodes, isolated from the direction of what stands around it, control and
// bidirectional characters made visible, long texts folded.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../lib/format';

// C0 and C1 controls except tab and line feed, zero-width and bidirectional marks, line separators, the BOM.
const names = 'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export function marked(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(hidden)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    const code = found[0].charCodeAt(0);
    const name = names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    parts.push(<span class="control" title={`character U+${code.toString(16).toUpperCase().padStart(4, '0')}`}>{name}</span>);
    from = found.index + found[0].length;
    // A text of nothing but marks is not worth thousands of elements.
    if (parts.length > 400) break;
  }
  if (from < text.length) parts.push(from === 0 ? text : text.slice(from));
  return parts;
}

export function Text({ value, mono }: { value: string | null | undefined; mono?: boolean }): JSX.Element {
  if (value === null || value === undefined) return <span class="none">–</span>;
  const shown = value.length > 300 ? value.slice(0, 300) + '…' : value;
  return <bdi class={mono ? 'mono text' : 'text'} {...(shown === value ? {} : { title: `${count(value.length)} characters` })}>{marked(shown)}</bdi>;
}

const step = 64 * 1024;

// A long text with its lines: the first characters, more on request.
export function LongText({ value, first = 600 }: { value: string; first?: number }): JSX.Element {
  const [shown, setShown] = useState(first);
  const rest = value.length - shown;
  return (
    <div class="long-text">
      <pre class="mono"><bdi>{marked(value.slice(0, shown))}</bdi></pre>
      {rest > 0 && (
        <button type="button" class="link" onClick={() => setShown(shown + step)}>
          show {rest > step ? `${count(step)} of ${count(rest)} more characters` : `${count(rest)} more characters`}
        </button>
      )}
    </div>
  );
}
