import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { token } from '../api/http';
import { useStore } from '../lib/store';
import { me, signOut } from '../state/me';
import { href, place, query, setParams } from '../state/router';
import { settings } from '../state/settings';
import { Ask } from './dialog';
import { Icon } from './icons';
import { Text } from './text';

// The rooms of the dashboard; `key` follows "g".
export const sections = [
  { path: '', label: 'Overview', icon: 'overview', key: 'o' },
  { path: 'executions', label: 'Executions', icon: 'executions', key: 'e' },
  { path: 'queues', label: 'Queues', icon: 'queues', key: 'q' },
  { path: 'dead-letters', label: 'Dead letters', icon: 'dead-letters', key: 'd' },
  { path: 'schedules', label: 'Schedules', icon: 'schedules', key: 's' },
  { path: 'workers', label: 'Workers', icon: 'workers', key: 'w' },
  { path: 'guards', label: 'Guards', icon: 'guards', key: 'u' },
  { path: 'audit', label: 'Audit', icon: 'audit', key: 'a' },
  { path: 'settings', label: 'Settings', icon: 'settings', key: 't' },
];

export function Sidebar({ path, open, onHelp }: { path: string; open: boolean; onHelp: () => void }): JSX.Element {
  const who = useStore(me);
  const own = useStore(settings);
  useStore(place);
  const [choosing, setChoosing] = useState(false);
  const room = path.split('/')[0];
  const signedIn = token.get() !== null;
  const namespace = who?.namespace ?? query().get('ns') ?? 'default';
  return (
    <nav id="sidebar" class={open ? 'sidebar open' : 'sidebar'} aria-label="Pages">
      <a class="brand" href={href('')}>
        <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="24" height="24" />
        hapax
      </a>
      <ul>
        {sections.map((section) => (
          <li key={section.path}>
            <a href={href(section.path)} aria-current={room === section.path ? 'page' : undefined} title={`g ${section.key}`}>
              <Icon name={section.icon} />
              {section.label}
            </a>
          </li>
        ))}
      </ul>
      <div class="sidebar-foot">
        {(who?.read_only || own.readOnly) && <p class="tag">read only</p>}
        {signedIn ? (
          <p class="dim small-text">namespace <Text value={namespace} /></p>
        ) : (
          <button type="button" class="ghost namespace" onClick={() => setChoosing(true)} title="Choose the namespace">
            namespace <Text value={namespace} />
          </button>
        )}
        {who && <p class="dim small-text"><Text value={who.actor} /></p>}
        <div class="row">
          <button type="button" class="ghost" onClick={onHelp} title="Keys and help (?)"><Icon name="help" /> Help</button>
          {signedIn && <button type="button" class="ghost" onClick={signOut}>Sign out</button>}
        </div>
      </div>
      {choosing && <ChooseNamespace now={namespace} onClose={() => setChoosing(false)} />}
    </nav>
  );
}

function ChooseNamespace({ now, onClose }: { now: string; onClose: () => void }): JSX.Element {
  const [value, setValue] = useState(now);
  return (
    <Ask title="Namespace" yes="Show it" onClose={onClose} act={async () => setParams({ ns: value === 'default' ? null : value })}>
      <label class="field">
        <span>Name</span>
        <input data-first value={value} maxLength={200} required onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      <p class="dim">This server has no tokens, so the caller chooses. The namespace stands in the address, so that a link shows the same.</p>
    </Ask>
  );
}
