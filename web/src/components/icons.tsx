// Icons as inline SVG: no request, no font. Each status has a shape of its own, so that colour is not the only sign.
import type { JSX } from 'preact';

const shapes: Record<string, JSX.Element> = {
  overview: <path d="M2 9.5 5.5 6l3 3L14 3.5M2 13.5h12" />,
  executions: <path d="M2.5 4h11M2.5 8h11M2.5 12h7" />,
  queues: <path d="M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z" />,
  'dead-letters': <path d="M2.5 4.5h11v8h-11zM2.5 5l5.5 4L13.5 5M6 1.5h4" />,
  schedules: <path d="M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 1.8v2.6M10.5 1.8v2.6M8 8.5v2l1.5 1" />,
  workers: <path d="M3 3h10v7H3zM6 13h4M8 10v3M5.5 6.5h1M9.5 6.5h1" />,
  guards: <path d="M8 1.8 13 4v4c0 3-2.2 5.2-5 6.2C5.2 13.2 3 11 3 8V4z" />,
  audit: <path d="M4 1.8h6l2.5 2.5v10H4zM6 7h4.5M6 9.5h4.5M6 12h3" />,
  settings: <path d="M2 4.5h7M12.5 4.5H14M2 11.5h1.5M7 11.5h7M9 4.5a1.7 1.7 0 1 0 3.4 0 1.7 1.7 0 1 0-3.4 0M3.5 11.5a1.7 1.7 0 1 0 3.4 0 1.7 1.7 0 1 0-3.4 0" />,
  menu: <path d="M2.5 4h11M2.5 8h11M2.5 12h11" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  search: <path d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 13.5 13.5" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  play: <path d="M5 3.2v9.6L12.5 8z" />,
  copy: <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />,
  refresh: <path d="M13 8a5 5 0 1 1-1.5-3.5M13.2 2v3h-3" />,
  down: <path d="m4 6.5 4 4 4-4" />,
  right: <path d="m6.5 4 4 4-4 4" />,
  help: <path d="M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.3 6.2c0-1 .8-1.6 1.7-1.6s1.7.6 1.7 1.5c0 1.3-1.7 1.3-1.7 2.6M8 11.2v.1" />,
  warning: <path d="M8 2.2 14.3 13H1.7zM8 6.2v3.4M8 11.3v.1" />,
  external: <path d="M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9v4.5h-9v-9H7" />,
  // Statuses.
  pending: <circle cx="8" cy="8" r="5" stroke-dasharray="2.4 1.9" />,
  running: <><circle cx="8" cy="8" r="5.2" /><path class="fill" d="M8 4.6a3.4 3.4 0 0 1 0 6.8z" /></>,
  completed: <><circle class="fill" cx="8" cy="8" r="6" /><path class="on" d="m5.2 8.2 2 2 3.7-4.2" /></>,
  failed: <><rect class="fill" x="2" y="2" width="12" height="12" rx="2.5" /><path class="on" d="m5.6 5.6 4.8 4.8M10.4 5.6l-4.8 4.8" /></>,
  cancelled: <><circle cx="8" cy="8" r="5.4" /><path d="m4.3 11.7 7.4-7.4" /></>,
  timed_out: <path d="M4 2h8M4 14h8M4.8 2c0 4 3.2 4 3.2 6s-3.2 2-3.2 6M11.2 2c0 4-3.2 4-3.2 6s3.2 2 3.2 6" />,
  waiting: <path d="M8 2.6a5.4 5.4 0 1 0 0 10.8A5.4 5.4 0 0 0 8 2.6M8 5v3.2l2 1.4" />,
};

export function Icon({ name, label }: { name: string; label?: string }): JSX.Element {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })}>
      {shapes[name] ?? shapes.waiting}
    </svg>
  );
}
