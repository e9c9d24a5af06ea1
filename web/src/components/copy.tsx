import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icons';

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a secure context there is no clipboard: the old way.
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

export function Copy({ text, label = 'Copy' }: { text: string | (() => string); label?: string }): JSX.Element {
  const [done, setDone] = useState('');
  return (
    <button
      type="button"
      class="ghost copy"
      title={label}
      aria-label={label}
      onClick={() => {
        void copyText(typeof text === 'function' ? text() : text).then((ok) => {
          setDone(ok ? 'copied' : 'not allowed');
          setTimeout(() => setDone(''), 1500);
        });
      }}
    >
      <Icon name="copy" />
      <span role="status" class={done ? 'copied' : 'sr'}>{done}</span>
    </button>
  );
}
