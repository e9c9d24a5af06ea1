import type { JSX } from 'preact';
import { Icon } from './icons';

const labels: Record<string, string> = { timed_out: 'timed out', in_progress: 'in progress' };

export function statusLabel(status: string): string {
  return labels[status] ?? status.replace(/_/g, ' ');
}

const icons: Record<string, string> = {
  pending: 'pending', running: 'running', completed: 'completed', failed: 'failed', cancelled: 'cancelled', timed_out: 'timed_out',
  in_progress: 'running', retrying: 'pending', recorded: 'completed', lost: 'warning', refused: 'failed', snoozed: 'waiting', ok: 'completed',
  warning: 'warning', error: 'failed',
};

export function StatusBadge({ status, note }: { status: string; note?: string | undefined }): JSX.Element {
  return (
    <span class={`status is-${status}`}>
      <Icon name={icons[status] ?? 'waiting'} />
      {statusLabel(status)}
      {note && <span class="status-note">{note}</span>}
    </span>
  );
}

// What a pending execution is waiting for, as far as its row tells.
export function executionNote(e: { status: string; waiting?: boolean; run_at: string; attempt: number; stuck_reason?: string | null; cancel_requested?: boolean }): string | undefined {
  if (e.stuck_reason) return 'stuck';
  if (e.cancel_requested && e.status === 'running') return 'cancelling';
  if (e.status !== 'pending') return undefined;
  if (e.waiting) return 'waiting';
  if (Date.parse(e.run_at) > Date.now() + 500) return e.attempt > 0 ? 'retrying' : 'delayed';
  return undefined;
}
