// Keys: "/" search, "j" and "k" move, "x" select, "?" help, "g q" go to queues. Pages add their own; none works while
// text is typed, and all single keys can be switched off in the settings.
import { useEffect, useRef } from 'preact/hooks';
import { settings } from './settings';

export interface Shortcut {
  keys: string; // "j", "g q", "Enter"
  does: string;
  run: () => void;
}

const active = new Set<{ group: string; list: () => Shortcut[] }>();
let first = '';
let firstAt = 0;

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector('dialog[open]')) return;
  if (!settings.get().keys && event.key.length === 1) return;
  const now = performance.now();
  const pressed = first !== '' && now - firstAt < 1200 ? `${first} ${event.key}` : event.key;
  const all = [...active].reverse().flatMap((each) => each.list());
  const found = all.find((shortcut) => shortcut.keys === pressed);
  if (found) {
    // Enter and space on a button or a link do what the browser does.
    if ((event.key === 'Enter' || event.key === ' ') && event.target instanceof Element && event.target.closest('a,button,summary')) return;
    first = '';
    event.preventDefault();
    found.run();
    return;
  }
  first = all.some((shortcut) => shortcut.keys.startsWith(event.key + ' ')) ? event.key : '';
  firstAt = now;
});

export function useShortcuts(group: string, list: Shortcut[]): void {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    const own = { group, list: () => latest.current };
    active.add(own);
    return () => {
      active.delete(own);
    };
  }, [group]);
}

export function shortcutGroups(): [string, Shortcut[]][] {
  return [...active].map((each) => [each.group, each.list()]);
}
