// A modal dialog: the browser's own <dialog> keeps the focus in it and closes on Escape.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useAct } from '../lib/use_resource';
import { ErrorNote } from './notes';

export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? 'wide' : ''}
      aria-labelledby="dialog-title"
      onClose={onClose}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

export interface AskProps {
  title: string;
  children?: ComponentChildren;
  yes: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  act: () => Promise<void>;
  onClose: () => void;
}

// Asks once, does it, and stays open with the reason if it was refused: what was typed is kept.
export function Ask({ title, children, yes, danger, disabled, wide, act, onClose }: AskProps): JSX.Element {
  const { busy, error, run } = useAct();
  return (
    <Dialog title={title} onClose={onClose} {...(wide ? { wide } : {})}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(act).then((done) => done && onClose());
        }}
      >
        {children}
        <ErrorNote error={error} />
        <div class="dialog-foot">
          <button type="button" onClick={onClose}>Leave it</button>
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || disabled} data-first={children ? undefined : true}>
            {busy ? 'Working…' : yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
