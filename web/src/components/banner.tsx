// The line at the top when the server does not answer: how old the picture is, and that the page tries by itself.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { get } from '../api/http';
import { duration } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { connection } from '../state/connection';
import { Icon } from './icons';

const tryEvery = 3000;

export function ConnectionBanner(): JSX.Element | null {
  const state = useStore(connection);
  return state.lost ? <Lost why={state.why} since={state.lastAnswer} /> : null;
}

function Lost({ why, since }: { why: string; since: number }): JSX.Element {
  const now = useNow();
  useEffect(() => {
    const timer = setInterval(() => void get('v1/queues').catch(() => undefined), tryEvery);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="banner" role="alert">
      <Icon name="warning" />
      <span>
        <strong>No connection:</strong> {why}. The picture is {duration(Math.max(0, Math.round((now - since) / 1000)))} old; trying again by itself.
      </span>
    </div>
  );
}
