// Sign-in with a token. Over a page whose token was refused it is a dialog, so that what was typed there stays.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../api/http';
import { Dialog } from '../components/dialog';
import { ErrorNote } from '../components/notes';
import { useAct } from '../lib/use_resource';
import { signIn } from '../state/me';

function Form({ why }: { why: string | null }): JSX.Element {
  const [value, setValue] = useState('');
  const [remember, setRemember] = useState(false);
  const { busy, error, run } = useAct();
  return (
    <form onSubmit={(event) => { event.preventDefault(); void run(() => signIn(value.trim(), remember)); }}>
      <label class="field">
        <span>Token</span>
        <input
          type="password" autocomplete="off" spellcheck={false} required data-first value={value} maxLength={4096}
          aria-describedby="token-help" onInput={(event) => setValue(event.currentTarget.value)}
        />
      </label>
      <p id="token-help" class="dim">
        <code>hapax token create NAME --scope read</code> makes one; the scope <code>admin</code> also lets this page act. The token stays in
        this page's memory and is never sent anywhere but to this server.
      </p>
      <label class="check">
        <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />
        Keep it until this tab is closed
      </label>
      {error instanceof ApiError && error.status === 401
        ? <p class="note note-error" role="alert">This token was refused: {error.message}. Check that it was copied whole, is not expired and not revoked.</p>
        : error !== undefined ? <ErrorNote error={error} what="Signing in" />
        : why !== null && <p class="note note-error" role="alert">The token was refused: {why}. Sign in with another one; the page stays as it is.</p>}
      <div class="dialog-foot">
        <button type="submit" class="primary" disabled={busy || value.trim() === ''}>{busy ? 'Signing in…' : 'Sign in'}</button>
      </div>
    </form>
  );
}

export function SignIn({ why, over }: { why: string | null; over?: boolean }): JSX.Element {
  if (over) return <Dialog title="Sign in again" onClose={() => undefined}><Form why={why} /></Dialog>;
  return (
    <main class="sign-in">
      <div class="card">
        <h1><img src={new URL('../icon.svg', import.meta.url).href} alt="" width="28" height="28" /> hapax</h1>
        <p>This server wants a token.</p>
        <Form why={why} />
      </div>
    </main>
  );
}
