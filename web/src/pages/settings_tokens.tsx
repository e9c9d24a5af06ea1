// Tokens: made here, shown once, revoked here.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, post, remove } from '../api/http';
import type { Scope, Token } from '../api/types';
import { Copy } from '../components/copy';
import { Ask, Dialog } from '../components/dialog';
import { Empty, ErrorNote, Loading, OlderServer, toast } from '../components/notes';
import { Table, type Column } from '../components/table';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { me, useHas } from '../state/me';

const scopes: [Scope, string][] = [
  ['read', 'look at everything, payloads too'],
  ['enqueue', 'enqueue, start, signal, send events'],
  ['work', 'claim and finish'],
  ['admin', 'cancel, retry, change settings, make tokens'],
];

export function TokensTab(): JSX.Element {
  const has = useHas('/v1/tokens');
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const read = useResource('tokens', (signal) => get<{ tokens: Token[] }>('v1/tokens', {}, { signal }), { enabled: has === true });
  if (has === false) return <OlderServer what="tokens over HTTP; use hapax token create" route="/v1/tokens" />;
  const columns: Column<Token>[] = [
    { name: 'name', label: 'Name', kind: 'wide', cell: (token) => <><Text value={token.name} />{token.revoked && <span class="tag bad">revoked</span>}</> },
    { name: 'scopes', label: 'Scopes', cell: (token) => <>{token.scopes.map((scope) => <span key={scope} class="tag">{scope}</span>)}</> },
    { name: 'created', label: 'Made', kind: 'number', cell: (token) => <Ago at={token.created_at} /> },
    { name: 'expires', label: 'Expires', kind: 'number', cell: (token) => token.expires_at ? <Ago at={token.expires_at} /> : <span class="dim">never</span> },
    { name: 'used', label: 'Last used', kind: 'number', cell: (token) => <Ago at={token.last_used_at} /> },
    { name: 'act', label: '', cell: (token) => token.revoked ? null : <button type="button" class="small danger-ghost" onClick={() => setRevoking(token)}>Revoke…</button> },
  ];
  return (
    <>
      <div class="section-head"><p class="dim">A token sets the namespace and what its holder may do.</p><button type="button" onClick={() => setMaking(true)}>New token…</button></div>
      <ErrorNote error={read.data ? undefined : read.error} retry={read.reload} />
      {!read.data ? !read.error && <Loading what="tokens" /> : read.data.tokens.length === 0
        ? <Empty title="No tokens"><p>Without tokens the server listens on loopback only, and everybody there may do everything.</p></Empty>
        : <Table label="Tokens" rows={read.data.tokens} id={(token) => token.id} columns={columns} />}
      {making && <NewToken onClose={() => setMaking(false)} onMade={(token) => { setMade(token); read.reload(); }} />}
      {made !== null && (
        <Dialog title="The new token" onClose={() => setMade(null)}>
          <p>It is shown <strong>once</strong>: only its hash is stored.</p>
          <p class="secret mono">{made} <Copy text={made} label="Copy the token" /></p>
          <div class="dialog-foot"><button type="button" class="primary" data-first onClick={() => setMade(null)}>I have it</button></div>
        </Dialog>
      )}
      {revoking && (
        <Ask title={`Revoke ${revoking.name}?`} yes="Revoke 1" danger onClose={() => setRevoking(null)} act={async () => { await remove(`v1/tokens/${encodeURIComponent(revoking.id)}`); toast('Revoked'); read.reload(); }}>
          <p>Calls with it are refused at once. This cannot be taken back.</p>
        </Ask>
      )}
    </>
  );
}

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (token: string) => void }): JSX.Element {
  const who = useStore(me);
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<Scope[]>(['read']);
  const [expires, setExpires] = useState('30d');
  return (
    <Ask
      title="New token" yes="Make it" disabled={chosen.length === 0} onClose={onClose}
      act={async () => onMade((await post<{ token: string }>('v1/tokens', { name, scopes: chosen, ...(expires ? { expires_in: expires } : {}) })).token)}
    >
      <label class="field"><span>Name: who or what uses it</span><input data-first required value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <fieldset class="choices">
        <legend>It may</legend>
        {scopes.filter(([scope]) => !who || who.scopes.includes(scope)).map(([scope, text]) => (
          <label key={scope} class="check"><input type="checkbox" checked={chosen.includes(scope)} onChange={(event) => setChosen(event.currentTarget.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))} /> <b>{scope}</b>: {text}</label>
        ))}
      </fieldset>
      <label class="field"><span>Expires in (empty: never)</span><input value={expires} placeholder="30d" maxLength={20} onInput={(event) => setExpires(event.currentTarget.value)} /></label>
    </Ask>
  );
}
