// One clock for all ages on the screen: a second apart, still while the page is hidden.
import { Store, useStore } from './store';

const now = new Store(Date.now());
setInterval(() => {
  if (!document.hidden) now.set(Date.now());
}, 1000);

export function useNow(): number {
  return useStore(now);
}
