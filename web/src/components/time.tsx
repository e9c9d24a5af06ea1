import type { JSX } from 'preact';
import { duration, exact, relative } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { settings } from '../state/settings';

// How long ago, with the exact instant on hover and for screen readers.
export function Ago({ at }: { at: string | null | undefined }): JSX.Element {
  const now = useNow();
  const { zone } = useStore(settings);
  if (!at) return <span class="none">–</span>;
  const time = Date.parse(at);
  return <time class="num" dateTime={at} title={exact(time, zone)}>{relative(time, now)}</time>;
}

export function At({ at }: { at: string | null | undefined }): JSX.Element {
  const now = useNow();
  const { zone } = useStore(settings);
  if (!at) return <span class="none">–</span>;
  const time = Date.parse(at);
  return <time class="num" dateTime={at} title={relative(time, now)}>{exact(time, zone)}</time>;
}

// How long something takes or took; a running one counts on.
export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }): JSX.Element {
  const now = useNow();
  if (!from) return <span class="none">–</span>;
  const seconds = ((to ? Date.parse(to) : Math.max(now, Date.parse(from))) - Date.parse(from)) / 1000;
  return <span class="num">{duration(to ? seconds : Math.floor(seconds))}</span>;
}
