// A sentence of the server: its instants in the zone that was chosen, ids of executions as links.
import type { JSX } from 'preact';
import { href } from '../state/router';
import { Text } from './text';
import { At } from './time';

const parts = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)|\b([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b/g;

export function Sentence({ value }: { value: string }): JSX.Element {
  const pieces: (JSX.Element | string)[] = [];
  let from = 0;
  for (const found of value.matchAll(parts)) {
    if (found.index > from) pieces.push(<Text value={value.slice(from, found.index)} />);
    pieces.push(found[1] ? <At at={found[1]} /> : <a class="mono" href={href(`executions/${found[2]!}`)}>{found[2]}</a>);
    from = found.index + found[0].length;
  }
  if (from < value.length) pieces.push(<Text value={value.slice(from)} />);
  return <>{pieces}</>;
}
