// The shell: who is signed in, which page the address names, what all pages share.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { refusedToken, token } from './api/http';
import { ConnectionBanner } from './components/banner';
import { Help } from './components/help';
import { Icon } from './components/icons';
import { Sidebar, sections } from './components/sidebar';
import { Empty, ErrorNote, Loading, Toasts } from './components/notes';
import { useStore } from './lib/store';
import { AuditPage } from './pages/audit';
import { DeadLettersPage } from './pages/dead_letters';
import { ExecutionPage } from './pages/execution';
import { ExecutionsPage } from './pages/executions';
import { GuardsPage } from './pages/guards';
import { OverviewPage } from './pages/overview';
import { QueuePage } from './pages/queue';
import { QueuesPage } from './pages/queues';
import { SchedulePage } from './pages/schedule';
import { SchedulesPage } from './pages/schedules';
import { SettingsPage } from './pages/settings';
import { SignIn } from './pages/sign_in';
import { WorkersPage } from './pages/workers';
import { useShortcuts } from './state/keyboard';
import { namespaceMayHaveChanged } from './state/live';
import { find, keptToken, known } from './state/me';
import { go, href, place } from './state/router';

const segments = (path: string): string[] =>
  path.split('/').map((each) => {
    try {
      return decodeURIComponent(each);
    } catch {
      return each;
    }
  });

function Page({ path }: { path: string }): JSX.Element {
  const [room = '', name] = segments(path);
  switch (room) {
    case '': return <OverviewPage />;
    case 'executions': return name ? <ExecutionPage key={name} id={name} /> : <ExecutionsPage />;
    case 'queues': return name ? <QueuePage key={name} name={name} /> : <QueuesPage />;
    case 'dead-letters': return <DeadLettersPage />;
    case 'schedules': return name ? <SchedulePage key={name} id={name} /> : <SchedulesPage />;
    case 'workers': return <WorkersPage />;
    case 'guards': return <GuardsPage />;
    case 'audit': return <AuditPage />;
    case 'settings': return <SettingsPage />;
    default:
      return (
        <Empty title="There is no such page">
          <p>The address may be of a newer release. <a href={href('')}>The overview</a> shows what needs attention.</p>
        </Empty>
      );
  }
}

// The first read of who is there; a kept token is used when there is one.
function useStart(): { error: unknown; again: () => void } {
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const kept = keptToken();
    if (kept !== null && token.get() === null) token.set(kept);
    find().then(() => setError(undefined), setError);
  }, [round]);
  return { error, again: () => setRound(round + 1) };
}

export function App(): JSX.Element {
  const { path, search } = useStore(place);
  const state = useStore(known);
  const refused = useStore(refusedToken);
  const { error, again } = useStart();
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  useShortcuts('Everywhere', [
    { keys: '?', does: 'this help', run: () => setHelp(true) },
    { keys: '/', does: 'search', run: () => focusSearch() },
    ...sections.map((section) => ({ keys: `g ${section.key}`, does: `go to ${section.label.toLowerCase()}`, run: () => go(href(section.path)) })),
  ]);
  useEffect(() => {
    namespaceMayHaveChanged();
    setMenu(false);
    const room = sections.find((section) => section.path === (segments(path)[0] ?? ''));
    const name = segments(path)[1];
    document.title = `${name ? name.slice(0, 60) + ' · ' : ''}${room?.label ?? 'hapax'} · hapax`;
  }, [path, search]);

  if (state === 'unknown') {
    return (
      <main class="boot">
        {error === undefined ? <Loading what="the dashboard" /> : <ErrorNote error={error} retry={again} what="Reading who you are" />}
      </main>
    );
  }
  if (state === 'sign-in') return <SignIn why={token.get() === null ? null : refused} />;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the page</a>
      <header class="topbar">
        <button type="button" class="ghost" aria-label="Menu" aria-expanded={menu} aria-controls="sidebar" onClick={() => setMenu(!menu)}>
          <Icon name={menu ? 'close' : 'menu'} />
        </button>
        <span class="brand">hapax</span>
      </header>
      <Sidebar path={path} open={menu} onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <Page path={path} />
      </main>
      <Toasts />
      {help && <Help onClose={() => setHelp(false)} />}
      {refused !== null && <SignIn why={refused} over />}
    </div>
  );
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field) {
    field.focus();
    field.select();
  } else go(href('executions'));
}
