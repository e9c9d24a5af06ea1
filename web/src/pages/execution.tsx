// One execution: what it is, why it is there, what went in and out, and the acts on it. A workflow is the same page with
// one tab more.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { get } from '../api/http';
import type { Execution, Reason } from '../api/types';
import { ExecutionActs } from '../components/execution_acts';
import { ErrorNote, Loading } from '../components/notes';
import { Tabs, type Tab } from '../components/page_head';
import { executionNote, StatusBadge } from '../components/status';
import { Sentence } from '../components/sentence';
import { Text } from '../components/text';
import { Copy } from '../components/copy';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useShortcuts } from '../state/keyboard';
import { listen } from '../state/live';
import { useHas } from '../state/me';
import { go, href, place, query } from '../state/router';
import { AttemptsTab } from './execution_attempts';
import { CompareTab } from './execution_compare';
import { IdentityTab } from './execution_identity';
import { LogsTab } from './execution_logs';
import { RelatedTab } from './execution_related';
import { SummaryTab } from './execution_summary';
import { WorkflowTab } from './workflow';

const readAgainAfter = 700; // ms: a busy workflow changes many times a second

export function ExecutionPage({ id }: { id: string }): JSX.Element {
  useStore(place);
  const namespace = query().get('ns') ?? '';
  const read = useResource(`execution ${id} ${namespace}`, (signal) => get<Execution>(`v1/executions/${encodeURIComponent(id)}`, {}, { signal, lossless: true }));
  const why = useResource(`why ${id} ${namespace}`, (signal) => get<{ reasons: Reason[] }>(`v1/executions/${encodeURIComponent(id)}/explain`, {}, { signal }));
  const hasLogs = useHas('/v1/executions/{id}/logs') === true;
  const reload = (): void => {
    read.reload();
    why.reload();
  };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = listen((changes) => {
      if (!changes.reset && !changes.executions.has(id)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        reload();
      }, readAgainAfter);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [id]);

  const e = read.data;
  const workflow = e?.kind === 'workflow';
  const tab = query().get('tab') ?? (workflow ? 'workflow' : 'summary');
  const to = (name: string): string => href(`executions/${id}`, { tab: name === (workflow ? 'workflow' : 'summary') ? null : name });
  const tabs: Tab[] = [
    ...(workflow ? [{ name: 'workflow', label: 'Workflow', href: to('workflow'), count: e?.journal?.length }] : []),
    { name: 'summary', label: 'Summary', href: to('summary') },
    { name: 'attempts', label: 'Attempts', href: to('attempts'), count: e?.attempts?.length },
    { name: 'identity', label: 'Identity', href: to('identity') },
    ...(hasLogs ? [{ name: 'logs', label: 'Logs', href: to('logs') }] : []),
    { name: 'related', label: 'Related', href: to('related') },
    { name: 'compare', label: 'Compare', href: to('compare') },
  ];
  useShortcuts('This execution', [
    { keys: 'r', does: 'read again', run: reload },
    { keys: 'u', does: 'back to the list', run: () => history.length > 1 ? history.back() : go(href('executions')) },
    ...tabs.map((each, index) => ({ keys: String(index + 1), does: each.label.toLowerCase(), run: () => go(each.href) })),
  ]);

  if (!e) return read.error ? <ErrorNote error={read.error} retry={reload} what="Reading the execution" /> : <Loading what="the execution" />;
  return (
    <>
      <header class="page-head execution-head">
        <div>
          <p class="crumbs"><a href={href('executions')}>Executions</a> / <a href={href('executions', { task: e.task })}><Text value={e.task} /></a></p>
          <h1>
            <StatusBadge status={e.status} note={executionNote(e)} />
            <Text value={e.task_id ?? e.task} />
          </h1>
          <p class="sentence" aria-live="polite"><Sentence value={why.data?.reasons[0]?.sentence ?? ' '} /></p>
          <p class="dim small-text mono">{e.id} <Copy text={e.id} label="Copy the id" /></p>
        </div>
        <div class="actions"><ExecutionActs e={e} onChange={reload} /></div>
      </header>
      <ErrorNote error={read.error} what="Reading it again" />
      <Tabs tabs={tabs} now={tab} label="Views of the execution" />
      {tab === 'workflow' && workflow ? <WorkflowTab e={e} onChange={reload} />
        : tab === 'attempts' ? <AttemptsTab e={e} />
        : tab === 'identity' ? <IdentityTab e={e} />
        : tab === 'logs' && hasLogs ? <LogsTab e={e} />
        : tab === 'related' ? <RelatedTab e={e} />
        : tab === 'compare' ? <CompareTab e={e} />
        : <SummaryTab e={e} reasons={why.data?.reasons} whyError={why.error} onChange={reload} />}
    </>
  );
}
