// A typed client as a user would write it: if it compiles under `tsc --strict`, the description's types are usable.
// Each line with @ts-expect-error is a mistake that the types must find.
import type { components, operations, paths } from './api';

type Schemas = components['schemas'];

// No member with a default is required.
export const least: Schemas['Enqueue'] = {};
export const usual: Schemas['Enqueue'] = { input: { to: 'ada@example.org' }, idempotency_key: 'welcome-ada', metadata: { customer: 'acme', n: 7 } };
export const start: Schemas['Start'] = { workflow_id: 'order-456', input: { id: '456' } };
export const claim: Schemas['ClaimOrder'] = { queues: ['emails'] };
export const outcome: Schemas['ReportedOutcome'] = { id: '0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f', fence: 3, status: 'completed', result: { paid: true } };
export const chosen: Schemas['CancelSelection'] = { filter: { queue: 'emails', metadata: { customer: 'acme' } }, reason: 'off' };
export const task: Schemas['TaskDefinition'] = { fingerprint: ['/id'], retry: { base: '1s' } };
export const daily: Schemas['ActivityDefinition'] = {
  trigger: { type: 'cron', cron: '0 9 * * 1-5', time_zone: 'Europe/Zurich' },
  target: { task: 'generate-report', options: { max_attempts: 3 } },
  input: { kind: 'daily' },
};
export const orders: Schemas['ActivityDefinition'] = {
  trigger: { type: 'event', types: ['order.*'], filter: { '/data/country': ['CH', 'AT'] } },
  target: { workflow: 'ship' },
};
export const event: Schemas['Event'] = { specversion: '1.0', source: '/shop', type: 'order.created', data: { id: 7 }, tenant: 'acme' };

// @ts-expect-error an unknown word
export const wrongWord: Schemas['Enqueue'] = { on_conflict: 'ignore' };
// @ts-expect-error an unknown member
export const wrongMember: Schemas['Enqueue'] = { idempotencyKey: 'welcome-ada' };
// @ts-expect-error no id
export const noId: Schemas['Start'] = { input: 1 };
// @ts-expect-error a cron trigger without its expression
export const noCron: Schemas['ActivityDefinition'] = { trigger: { type: 'cron' }, target: { task: 't' } };

// Headers and queries.
export const headers: operations['enqueue']['parameters']['header'] = { 'Hapax-Namespace': 'acme', 'Idempotency-Key': '"welcome-ada"' };
export const find: operations['findExecution']['parameters']['query'] = { task: 'pay', task_id: '7', queue: 'emails' };
export const list: operations['listExecutions']['parameters']['query'] = { status: 'failed', metadata: ['customer=acme'] };
export type Batch = paths['/v1/executions/batch']['post']['requestBody']['content']['application/x-ndjson'];

// The types of answers have names.
export function told(activity: Schemas['Activity'], identity: Schemas['Identity'], ready: Schemas['Readiness']): string {
  const expression = activity.definition.trigger.type === 'cron' ? activity.definition.trigger.cron : activity.definition.trigger.types.join();
  return `${activity.counts.started} ${expression} ${identity.holder?.status} ${ready.checks['store']}`;
}
