// Differences of two JSON values, path by path, in the order of the first.
import { ExactNumber, type Json } from './lossless_json';

export interface Difference {
  path: string;
  left: Json | undefined;
  right: Json | undefined;
}

const most = 500;

function isLeaf(value: Json | undefined): boolean {
  return value === null || typeof value !== 'object' || value instanceof ExactNumber;
}

function same(left: Json | undefined, right: Json | undefined): boolean {
  if (left instanceof ExactNumber || right instanceof ExactNumber) return left instanceof ExactNumber && right instanceof ExactNumber && left.text === right.text;
  return left === right;
}

export function differences(left: Json | undefined, right: Json | undefined): { list: Difference[]; more: boolean } {
  const list: Difference[] = [];
  let more = false;
  const walk = (one: Json | undefined, other: Json | undefined, path: string): void => {
    if (list.length >= most) {
      more = true;
      return;
    }
    if (isLeaf(one) || isLeaf(other) || one === undefined || other === undefined || Array.isArray(one) !== Array.isArray(other)) {
      if (!(isLeaf(one) && isLeaf(other) && same(one, other)) && !(one === undefined && other === undefined)) list.push({ path: path || '/', left: one, right: other });
      return;
    }
    const a = one as Record<string, Json>;
    const b = other as Record<string, Json>;
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) walk(a[name], b[name], `${path}/${name}`);
  };
  walk(left, right, '');
  return { list, more };
}
