import type { ComponentChildren, JSX } from 'preact';

export function PageHead({ title, sub, children }: { title: ComponentChildren; sub?: ComponentChildren; children?: ComponentChildren }): JSX.Element {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {sub && <p class="dim">{sub}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  );
}

export interface Tab {
  name: string;
  label: string;
  href: string;
  count?: number | undefined;
}

// Tabs are links, as each view has its own address.
export function Tabs({ tabs, now, label }: { tabs: Tab[]; now: string; label: string }): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === now ? 'page' : undefined}>
          {tab.label}
          {tab.count !== undefined && <span class="tab-count num">{tab.count}</span>}
        </a>
      ))}
    </nav>
  );
}

export function Fields({ items }: { items: ([string, ComponentChildren] | null | false | '' | undefined)[] }): JSX.Element {
  return (
    <dl class="fields">
      {items.filter((item): item is [string, ComponentChildren] => Boolean(item)).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
