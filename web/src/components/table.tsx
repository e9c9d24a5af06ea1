// A table whose rows are moved through by keys: "j" and "k" move, Enter opens, "x" selects.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useShortcuts } from '../state/keyboard';
import { go } from '../state/router';

export interface Column<T> {
  name: string;
  label: ComponentChildren;
  cell: (row: T) => ComponentChildren;
  kind?: 'number' | 'wide' | 'narrow';
  // What stands in front of the cell on narrow screens, where a row is a card.
  short?: string;
}

export interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  open?: (row: T) => string | null; // the address of its page
  selection?: { has: (id: string) => boolean; toggle: (id: string) => void; all: boolean; toggleAll: () => void };
  rowClass?: (row: T) => string;
  keys?: boolean;
}

export function Table<T>({ label, columns, rows, id, open, selection, rowClass, keys = true }: TableProps<T>): JSX.Element {
  const [active, setActive] = useState<string | null>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const index = rows.findIndex((row) => id(row) === active);
  const move = (by: number): void => {
    if (rows.length === 0) return;
    const next = rows[Math.min(rows.length - 1, Math.max(0, index < 0 ? (by > 0 ? 0 : rows.length - 1) : index + by))];
    if (next) setActive(id(next));
  };
  useEffect(() => {
    if (active === null) return;
    const row = body.current?.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(active)}"]`);
    row?.scrollIntoView({ block: 'nearest' });
    row?.focus({ preventScroll: true });
  }, [active]);
  useShortcuts(label, !keys ? [] : [
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'previous row', run: () => move(-1) },
    ...(open ? [{ keys: 'Enter', does: 'open the row', run: () => { const row = rows[index]; const to = row && open(row); if (to) go(to); } }] : []),
    ...(selection ? [{ keys: 'x', does: 'select the row', run: () => { if (active !== null && index >= 0) selection.toggle(active); } }] : []),
  ]);
  return (
    <div class="table-holder">
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {selection && (
              <th class="narrow" scope="col">
                <input type="checkbox" aria-label="Select all on this page" checked={selection.all} onChange={selection.toggleAll} />
              </th>
            )}
            {columns.map((column) => <th key={column.name} scope="col" class={column.kind ?? ''}>{column.label}</th>)}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row) => {
            const own = id(row);
            return (
              <tr
                key={own} data-id={own} tabIndex={-1}
                class={`${own === active ? 'active ' : ''}${selection?.has(own) ? 'selected ' : ''}${rowClass?.(row) ?? ''}`}
                onClick={(event) => {
                  setActive(own);
                  // A click beside links, buttons and marked text opens the row.
                  const to = open?.(row);
                  if (!to || (event.target as Element).closest('a,button,input,label,select') || getSelection()?.toString()) return;
                  go(to);
                }}
              >
                {selection && (
                  <td class="narrow">
                    <input type="checkbox" aria-label={`Select ${own}`} checked={selection.has(own)} onChange={() => selection.toggle(own)} />
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.name} class={column.kind ?? ''} data-label={column.short ?? (typeof column.label === 'string' ? column.label : '')}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
