// Where requests' time and memory go, by a profile.
import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { fileURLToPath } from "node:url";

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

interface TimeNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** The output of `profiler.mjs`. */
export interface Profile {
  readonly time: {
    readonly nodes: readonly TimeNode[];
    readonly samples: readonly number[];
    readonly timeDeltas: readonly number[];
  };
  readonly heap: { readonly head: HeapNode };
}

/** Parts of a request, by name: a folder of the framework's sources, a bundled package, or one of the three below. */
export type Shares = ReadonlyMap<string, number>;

/** Everything that neither the framework nor the server's script has called: the HTTP parser, sockets, timers. */
const NODE = "Node.js";
const COLLECTION = "garbage collection";
/** The system calls that write responses. */
const WRITES = "writing to sockets";

/** V8's names for time in which the process did nothing. */
const IDLE = new Set(["(idle)", "(program)", "(root)"]);
const SOCKET_WRITE = /^write(?:Utf8String|Latin1String|AsciiString|Buffer|v)$/;

/** Each part's share of the time in which the process was busy. The sum is 1. */
export function timeShares({ time }: Profile): Shares {
  const byId = new Map(time.nodes.map((node) => [node.id, node]));
  const parents = new Map(time.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const partOfNode = new Map<number, string | null>();
  for (const { id, callFrame } of time.nodes) {
    const frames: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) frames.push(byId.get(at)!.callFrame);
    const isOwn = !IDLE.has(callFrame.functionName) && !frames.some(({ url }) => url.startsWith("node:inspector"));
    partOfNode.set(id, isOwn ? partOf(frames) : null);
  }
  const sums = new Map<string, number>();
  time.samples.forEach((id, index) => {
    const part = partOfNode.get(id);
    if (part != null) sums.set(part, (sums.get(part) ?? 0) + time.timeDeltas[index]!);
  });
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0);
  return new Map([...sums].map(([part, sum]) => [part, sum / total]));
}

/** The bytes that each part has allocated during the profile. */
export function allocated({ heap }: Profile): Shares {
  const sums = new Map<string, number>();
  const visit = ({ callFrame, selfSize, children }: HeapNode, callers: readonly CallFrame[]): void => {
    const frames = [callFrame, ...callers];
    if (selfSize > 0) {
      const part = partOf(frames);
      sums.set(part, (sums.get(part) ?? 0) + selfSize);
    }
    for (const child of children) visit(child, frames);
  };
  visit(heap.head, []);
  return sums;
}

/** The part that a stack belongs to: the part of the first frame that isn't Node's, starting at the innermost one. */
function partOf(frames: readonly CallFrame[]): string {
  const [{ functionName }] = frames as [CallFrame];
  if (functionName === "(garbage collector)") return COLLECTION;
  if (SOCKET_WRITE.test(functionName)) return WRITES;
  for (const frame of frames) {
    const source = sourceOf(frame);
    if (source !== null) return source;
  }
  return NODE;
}

const maps = new Map<string, SourceMap | null>();
const sources = new Map<string, string>();

/** The part that defines a function; `null` for Node's own functions. */
function sourceOf({ url, lineNumber, columnNumber }: CallFrame): string | null {
  if (!url.startsWith("file:")) return null;
  const key = `${url}:${lineNumber}:${columnNumber}`;
  let part = sources.get(key);
  if (part === undefined) {
    const entry = mapOf(url)?.findEntry(lineNumber, columnNumber);
    part = nameOf(entry !== undefined && "originalSource" in entry ? entry.originalSource : url);
    sources.set(key, part);
  }
  return part;
}

function mapOf(url: string): SourceMap | null {
  let map = maps.get(url);
  if (map === undefined) {
    const file = `${fileURLToPath(url)}.map`;
    map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, "utf8")) as SourceMapPayload) : null;
    maps.set(url, map);
  }
  return map;
}

function nameOf(source: string): string {
  const installed = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1];
  if (installed !== undefined && installed !== "ashlar") return installed;
  const folder = /(?:^|\/)src\/([^/]+)\//.exec(source)?.[1];
  return folder === undefined ? "the application" : `\`${folder}/\``;
}
