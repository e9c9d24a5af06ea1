// The shapes of docs/reference/openapi.yaml that the dashboard reads. Members of routes that an older server lacks are in
// the second half; features.ts says which routes there are.
import type { Json } from '../lib/lossless_json';

export const statuses = ['pending', 'running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;
export type Status = (typeof statuses)[number];
export type Scope = 'read' | 'enqueue' | 'work' | 'admin';

export interface ErrorInfo {
  type: string;
  message: string;
  detail: string | null;
}

export interface Attempt {
  number: number;
  worker: string | null;
  started_at: string | null;
  ended_at: string | null;
  outcome: string;
  error: ErrorInfo | null;
}

export interface JournalEntry {
  position: number;
  kind: string;
  name: string | null;
  status: string;
  at: string;
  ended_at: string | null;
  attempts: number;
  child: string | null;
  input: Json;
  result: Json;
  error: ErrorInfo | null;
  detail: string | null;
}

export interface Execution {
  id: string;
  namespace: string;
  task: string;
  kind: 'task' | 'workflow' | 'guard';
  queue: string;
  status: Status;
  input?: Json;
  result?: Json;
  error: ErrorInfo | null;
  attempts?: Attempt[];
  journal?: JournalEntry[];
  attempt: number;
  max_attempts: number;
  lost?: number;
  max_lost?: number;
  run: number;
  identity: string | null;
  task_id: string | null;
  effect_key?: string;
  fence: number;
  priority: number;
  created_at: string;
  run_at: string;
  started_at: string | null;
  finished_at: string | null;
  expires_at?: string | null;
  deadline?: string | null;
  timeout?: string | null;
  retry?: { base: string; cap: string; multiplier: number; jitter: string };
  parent?: string | null;
  parent_workflow_id?: string | null;
  waiting?: boolean;
  stuck_reason?: string | null;
  continued_as?: string | null;
  session?: string | null;
  worker?: string | null;
  cancel_requested?: boolean;
  progress?: { fraction?: number; message?: string } | null;
  dead?: boolean;
  retried_as?: string | null;
  retry_of?: string | null;
  note?: string | null;
  tags: string[];
  metadata: Record<string, Json> | null;
  traceparent?: string | null;
  enqueued_by?: string | null;
}

export interface ExecutionPage {
  executions: Execution[];
  next: string | null;
  search_stopped?: boolean;
}

export interface Reason {
  code: string;
  sentence: string;
  remedy: string | null;
}

export interface Queue {
  queue: string;
  paused: boolean;
  draining: boolean;
  retention: string;
  retention_is_default?: boolean;
  failed_retention: string | null;
  dedup_window: string | null;
  rate_limit: string | null;
  key_rate_limit: string | null;
  concurrency: number | null;
  worker_concurrency: number | null;
  key_concurrency: number | null;
  ready: number;
  delayed: number;
  parked: number;
  running: number;
  dead: number;
  oldest_ready: string | null;
  completed_last_minute: number;
  failed_last_minute: number;
}

export interface Session {
  id: string;
  worker: string;
  host: string;
  pid: number;
  build: string | null;
  queues: string[];
  tasks: string[];
  running: number;
  started_at: string;
  expires_at?: string;
  // Of GET /v1/sessions.
  lease_left_s?: number;
  last_beat_at?: string;
  lost?: boolean;
  throughput_per_min?: number;
}

export interface Failure {
  id: string;
  task: string;
  queue: string;
  status: Status;
  attempt: number;
  finished_at: string | null;
  error: ErrorInfo | null;
}

export interface Overview {
  at: string;
  namespace: string;
  queues: Queue[];
  sessions: Session[];
  failures: Failure[];
}

export interface Trigger {
  type: 'cron' | 'event';
  cron?: string;
  time_zone?: string;
  misfire_policy?: string;
  misfire_grace?: string;
  catchup_limit?: number;
  overlap?: string;
  jitter?: string;
  types?: string[];
  source?: string;
  filter?: Record<string, Json>;
}

export interface Activity {
  id: string;
  name: string;
  kind: 'cron' | 'event';
  description: string;
  version: number;
  paused: boolean;
  note: string | null;
  next_due: string | null;
  last_started: string | null;
  counts: { started: number; duplicates: number; missed: number; overlapped: number; refused: number };
  trouble?: string | null;
  definition: Record<string, Json>;
  trigger: Trigger;
  target: { task?: string; workflow?: string; queue?: string };
}

export interface Fire {
  run_id: string;
  scheduled_for: string;
  local: string;
  due: string;
  note: string | null;
}

export interface MisfirePreview {
  policy: string;
  own: boolean;
  runs: { run_id: string; scheduled_for: string; missed: boolean; window: { from: string; to: string; missed: number } | null }[];
  dropped: number;
  more: boolean;
}

export interface Preview {
  description: string;
  time_zone: string;
  from: string;
  fires: Fire[];
  outage?: { from: string; to: string; down: string; policies: MisfirePreview[] };
}

export interface ActivityRun {
  run_id: string;
  id: string;
  task: string;
  status: Status;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  error: ErrorInfo | null;
}

export interface RoutedEvent {
  id: string;
  source: string;
  type: string;
  runs?: { activity: string; run_id: string | null; execution: string | null; created: boolean; error: string | null }[];
  paused?: string[];
}

export interface TaskEntry {
  task: string;
  origin: string;
  updated_at: string;
  definition: Record<string, Json>;
}

export interface Admission {
  id: string;
  created: boolean;
  status: Status;
  run: number;
}

// What POST /v1/tasks/{task}/identity tells.
export interface AskedIdentity {
  strategy: string;
  catalogued: boolean;
  scope: string;
  task_id: string | null;
  canonical: string | null;
  identity: string | null;
  fingerprint: string | null;
  holder: {
    id: string;
    status: Status;
    run: number;
    created_at: string;
    finished_at: string | null;
    held_until: string | null;
    expired: boolean;
  } | null;
  would: string;
}

// ---- routes of newer servers ----

export interface Me {
  namespace: string;
  scopes: Scope[];
  operator: boolean;
  read_only: boolean;
  hide_payloads: boolean;
  version: string;
  actor: string;
  tokens_required: boolean;
}

export interface HeldIdentity {
  strategy: string;
  scope: string;
  key: string | null;
  material: string[];
  fingerprint: string | null;
  holder: { id: string; status: Status; run: number } | null;
  held_until?: string | null;
  asked?: number;
  deduplicated?: number;
  approximate?: boolean;
  next_enqueue: string;
  sentence: string;
}

export interface Sample {
  at: string;
  created: number;
  deduplicated: number;
  completed: number;
  failed: number;
  retried: number;
  stale: number;
  depth: number | null;
  oldest_age_s: number | null;
  wait_p50_ms: number | null;
  wait_p99_ms: number | null;
  run_p50_ms: number | null;
  run_p99_ms: number | null;
}

export interface Stats {
  from: string;
  step_s: number;
  series: Sample[];
  builds: { at: string; build: string }[];
}

export interface AttentionItem {
  kind: 'stuck_workflow' | 'dead_letter' | 'overdue_activity' | 'lost_session' | 'paused_queue';
  count: number;
  example_id?: string;
  queue?: string;
  activity?: string;
  text: string;
  since?: string;
}

export interface Counts {
  count: number;
  exact: boolean;
  by_status: Partial<Record<Status, number>>;
}

export interface Job {
  id: string;
  act: 'cancel' | 'retry' | 'discard' | 'move';
  state: 'running' | 'paused' | 'completed' | 'cancelled';
  matched: number;
  done: number;
  refused: number;
  rate_per_s: number | null;
  created_at: string;
  actor: string;
}

export interface DeadGroup {
  task: string;
  queue: string;
  error_type: string;
  message_pattern: string;
  count: number;
  newest_id: string;
  newest_at: string;
  oldest_at: string;
  per_hour: number[];
  group?: string;
}

export interface LogLine {
  at: string;
  fence: number;
  attempt: number;
  level: string;
  message: string;
  fields?: Record<string, Json> | null;
}

export interface GuardRecord {
  name: string;
  key: string;
  status: 'in_progress' | 'completed' | 'failed';
  fence: number;
  started_at: string;
  completed_at?: string | null;
  heartbeat_age_s?: number | null;
  expires_at?: string | null;
  result?: Json;
  error?: ErrorInfo | null;
}

export interface AuditEntry {
  at: string;
  actor: string;
  action: string;
  subject: string;
  detail?: Json;
  execution_id?: string | null;
}

export interface Token {
  id: string;
  name: string;
  scopes: Scope[];
  created_at?: string;
  expires_at?: string | null;
  last_used_at?: string | null;
  revoked?: boolean;
}

export interface Check {
  name: string;
  level: 'ok' | 'warning' | 'error';
  text: string;
  remedy?: string | null;
}

export interface SqlAnswer {
  columns: string[];
  rows: Json[][];
  truncated: boolean;
  seconds: number;
}
