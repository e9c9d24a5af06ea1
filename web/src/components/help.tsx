import type { JSX } from 'preact';
import { shortcutGroups } from '../state/keyboard';
import { Dialog } from './dialog';

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div class="help-columns">
        {shortcutGroups().map(([group, shortcuts]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl class="keys">
              {shortcuts.map((shortcut) => (
                <div key={shortcut.keys}>
                  <dt>{shortcut.keys.split(' ').filter(Boolean).map((key) => <kbd key={key}>{key}</kbd>)}</dt>
                  <dd>{shortcut.does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="dim">Every page, filter and selection is in the address: send the link, and a colleague sees the same. Single keys can be switched off in the settings.</p>
      <div class="dialog-foot"><button type="button" class="primary" data-first onClick={onClose}>Close</button></div>
    </Dialog>
  );
}
