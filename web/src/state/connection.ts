// Whether the server answers, and how old the picture on the screen is.
import { Store } from '../lib/store';

export interface Connection {
  lost: boolean;
  why: string;
  lastAnswer: number;
}

class ConnectionState extends Store<Connection> {
  succeeded(): void {
    const now = Date.now();
    const before = this.get();
    // Watchers are told when the state changes; the age is read when it is shown.
    if (before.lost) this.set({ lost: false, why: '', lastAnswer: now });
    else before.lastAnswer = now;
  }
  failed(why: string): void {
    if (!this.get().lost) this.set({ ...this.get(), lost: true, why });
  }
}

export const connection = new ConnectionState({ lost: false, why: '', lastAnswer: Date.now() });
