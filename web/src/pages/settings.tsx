// Settings: how this page shows things, the tasks' catalogue, tokens, the store's health, and SQL.
import type { JSX } from 'preact';
import { Tabs } from '../components/page_head';
import { PageHead } from '../components/page_head';
import { Text } from '../components/text';
import { isZone } from '../lib/format';
import { useStore } from '../lib/store';
import { useHas, useMay, me } from '../state/me';
import { href, place, query } from '../state/router';
import { changeSettings, settings } from '../state/settings';
import { DoctorTab } from './settings_doctor';
import { SqlTab } from './settings_sql';
import { TasksTab } from './settings_tasks';
import { TokensTab } from './settings_tokens';

export function SettingsPage(): JSX.Element {
  useStore(place);
  const who = useStore(me);
  const admin = useMay('admin');
  const hasSql = useHas('/v1/sql', 'post') === true;
  const tab = query().get('tab') ?? 'page';
  const tabs: [string, string][] = [
    ['page', 'This page'],
    ['tasks', 'Tasks'],
    ...(admin ? [['tokens', 'Tokens'] as [string, string]] : []),
    ['doctor', 'Health'],
    ...(hasSql && who?.operator ? [['sql', 'SQL'] as [string, string]] : []),
  ];
  return (
    <>
      <PageHead title="Settings" sub={who ? <>hapax {who.version} · <Text value={who.actor} /> · {who.scopes.join(', ') || 'no scopes'}</> : undefined} />
      <Tabs label="Settings" now={tab} tabs={tabs.map(([name, label]) => ({ name, label, href: href('settings', { tab: name === 'page' ? null : name }) }))} />
      {tab === 'tasks' ? <TasksTab /> : tab === 'tokens' ? <TokensTab /> : tab === 'doctor' ? <DoctorTab /> : tab === 'sql' ? <SqlTab /> : <PageTab />}
    </>
  );
}

function PageTab(): JSX.Element {
  const own = useStore(settings);
  return (
    <div class="form">
      <label class="field">
        <span>Times in the zone</span>
        <select value={own.zone === 'local' || own.zone === 'UTC' ? own.zone : 'other'} onChange={(event) => changeSettings({ zone: event.currentTarget.value === 'other' ? Intl.DateTimeFormat().resolvedOptions().timeZone : event.currentTarget.value })}>
          <option value="local">of this computer ({Intl.DateTimeFormat().resolvedOptions().timeZone})</option>
          <option value="UTC">UTC</option>
          <option value="other">another</option>
        </select>
      </label>
      {own.zone !== 'local' && own.zone !== 'UTC' && (
        <label class="field"><span>Zone</span><input defaultValue={own.zone} placeholder="Europe/Zurich" maxLength={64} onChange={(event) => { if (isZone(event.currentTarget.value)) changeSettings({ zone: event.currentTarget.value }); else event.currentTarget.value = own.zone; }} /></label>
      )}
      <label class="check"><input type="checkbox" checked={own.keys} onChange={(event) => changeSettings({ keys: event.currentTarget.checked })} /> Single keys act (<kbd>j</kbd> <kbd>k</kbd> <kbd>x</kbd> <kbd>/</kbd> <kbd>?</kbd>)</label>
      <label class="check"><input type="checkbox" checked={own.readOnly} onChange={(event) => changeSettings({ readOnly: event.currentTarget.checked })} /> Read only: offer no acts in this browser</label>
      <p class="dim">Dark or light follows the system. These choices stay in this browser; no secret is among them.</p>
    </div>
  );
}
