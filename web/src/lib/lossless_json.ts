// JSON that keeps numbers as they were written: integers beyond 2^53 and numbers that a double cannot hold become an
// ExactNumber with their own text. Payloads are shown and edited through this reader; nothing is rounded on the way.

export class ExactNumber {
  constructor(readonly text: string) {}
  toJSON(): string {
    return this.text;
  }
}

export type Json = null | boolean | number | string | ExactNumber | Json[] | { [name: string]: Json };

const depthMost = 200;

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail('the text goes on after the value');
    return value;
  }

  private fail(what: string): never {
    const line = this.text.slice(0, this.at).split('\n').length;
    throw new SyntaxError(`${what} (line ${line}, character ${this.at - this.text.lastIndexOf('\n', this.at - 1)})`);
  }

  private space(): void {
    while (this.at < this.text.length && ' \t\r\n'.includes(this.text[this.at]!)) this.at++;
  }

  private value(depth: number): Json {
    if (depth > depthMost) this.fail(`it is nested more than ${depthMost} deep`);
    this.space();
    const first = this.text[this.at];
    if (first === '{') return this.object(depth);
    if (first === '[') return this.array(depth);
    if (first === '"') return this.string();
    if (first !== undefined && /[-0-9]/.test(first)) return this.number();
    for (const [word, value] of [['true', true], ['false', false], ['null', null]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    this.fail(first === undefined ? 'the text ends where a value is expected' : 'a value is expected here');
  }

  private object(depth: number): Json {
    const members: { [name: string]: Json } = Object.create(null) as { [name: string]: Json };
    this.at++;
    this.space();
    if (this.text[this.at] === '}') {
      this.at++;
      return members;
    }
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') this.fail('a name in double quotes is expected here');
      const name = this.string();
      this.space();
      if (this.text[this.at] !== ':') this.fail('a colon is expected here');
      this.at++;
      members[name] = this.value(depth + 1);
      this.space();
      const next = this.text[this.at++];
      if (next === '}') return members;
      if (next !== ',') {
        this.at--;
        this.fail('a comma or } is expected here');
      }
    }
  }

  private array(depth: number): Json {
    const items: Json[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === ']') {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(this.value(depth + 1));
      this.space();
      const next = this.text[this.at++];
      if (next === ']') return items;
      if (next !== ',') {
        this.at--;
        this.fail('a comma or ] is expected here');
      }
    }
  }

  private string(): string {
    const end = /"(?:[^"\\]|\\.)*"/gsy;
    end.lastIndex = this.at;
    const found = end.exec(this.text);
    if (!found) this.fail('a text is not closed by "');
    try {
      const value = JSON.parse(found[0]) as string;
      this.at += found[0].length;
      return value;
    } catch {
      this.fail('a text has a control character or an unknown escape');
    }
  }

  private number(): Json {
    const form = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
    form.lastIndex = this.at;
    const text = form.exec(this.text)?.[0];
    if (!text) this.fail('this is not a number');
    this.at += text.length;
    const value = Number(text);
    if (/^-?[0-9]+$/.test(text)) return Number.isSafeInteger(value) ? value : new ExactNumber(text);
    return Number.isFinite(value) && sameNumber(text, value) ? value : new ExactNumber(text);
  }
}

function sameNumber(text: string, value: number): boolean {
  const digits = (one: string): string => one.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+|0+$/g, '');
  return digits(text) === digits(String(value)) && (value !== 0 || digits(text) === '');
}

export function parseJson(text: string): Json {
  return new Reader(text).whole();
}

// As JSON.stringify, with exact numbers as they came.
export function formatJson(value: unknown, indent = 2, level = 0): string {
  if (value instanceof ExactNumber) return value.text;
  if (value === undefined) return 'null';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const open = indent > 0 ? '\n' + ' '.repeat(indent * (level + 1)) : '';
  const close = indent > 0 ? '\n' + ' '.repeat(indent * level) : '';
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[${value.map((item) => open + formatJson(item, indent, level + 1)).join(',')}${close}]`;
  }
  const members = Object.entries(value);
  if (members.length === 0) return '{}';
  const colon = indent > 0 ? ': ' : ':';
  return `{${members
    .map(([name, member]) => open + JSON.stringify(name) + colon + formatJson(member, indent, level + 1))
    .join(',')}${close}}`;
}
