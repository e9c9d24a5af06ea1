// What a person chose for this browser: zone, keys, read-only, columns. No secret is in it.
import { Store } from '../lib/store';

export interface Settings {
  zone: string; // 'local', 'UTC' or an IANA name
  keys: boolean; // single-key shortcuts
  readOnly: boolean;
  columns: string[] | null;
  pageSize: number;
}

const usual: Settings = { zone: 'local', keys: true, readOnly: false, columns: null, pageSize: 50 };
const name = 'hapax-settings';

function read(): Settings {
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(name) ?? '{}') as Partial<Settings>) };
  } catch {
    return usual;
  }
}

export const settings = new Store<Settings>(read());

export function changeSettings(change: Partial<Settings>): void {
  settings.set({ ...settings.get(), ...change });
  try {
    localStorage.setItem(name, JSON.stringify(settings.get()));
  } catch {
    // Kept for this page only.
  }
}
