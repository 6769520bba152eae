import { addRoute, createRouter, findAllRoutes, findRoute, type RouterContext } from "rou3";
import { compileRouter } from "rou3/compiler";
import { type Dictionary, dictionary } from "../../support/index.ts";
import { HTTP_METHODS } from "../definitions/controller-action.ts";
import { decodeSegment } from "../patterns/path-encoding.ts";
import type { BoundRoute } from "./compiled-route.ts";
import type { RouteVariant } from "./route-variant.ts";

/** A route, and the values that its pattern captured. */
export interface TableMatch {
  readonly route: BoundRoute;
  readonly params: Readonly<Dictionary<string | null>>;
}

interface Leaf {
  readonly variant: RouteVariant;
  /** The result if nothing is captured. All requests share it. */
  readonly fixed: TableMatch | null;
}

interface Captured {
  readonly data: Leaf;
  readonly params?: Readonly<Record<string, string>>;
}

type Lookup = (method: string, path: string) => Captured | undefined;

interface MethodTable {
  readonly tree: RouterContext<Leaf>;
  readonly lookup: Lookup;
}

/** The routes of one host, found by method and path. */
export class RouteTable {
  readonly #methods: ReadonlyMap<string, MethodTable>;

  constructor(variants: readonly RouteVariant[]) {
    const methods = new Map<string, MethodTable>();
    for (const method of HTTP_METHODS) {
      const own = variants.filter(({ route }) => route.methods.includes(method));
      if (own.length > 0) methods.set(method, methodTable(own));
    }
    const get = methods.get("GET");
    if (get !== undefined) methods.set("HEAD", get);
    this.#methods = methods;
  }

  /** @param path begins with a slash; its escapes must be well-formed and normalized */
  find(method: string, path: string): TableMatch | null {
    const table = this.#methods.get(method);
    if (table === undefined) return null;
    const found = table.lookup("", path);
    if (found === undefined) return null;
    return found.data.fixed ?? read(found.data.variant, found.params) ?? findNext(table.tree, path);
  }
}

function methodTable(variants: readonly RouteVariant[]): MethodTable {
  const tree = createRouter<Leaf>();
  for (const variant of variants) {
    const fixed = variant.captured.length === 0 ? Object.freeze(readFixed(variant)) : null;
    addRoute(tree, "", variant.path, { variant, fixed });
  }
  return { tree, lookup: lookupIn(tree) };
}

/** The tree compiled to one function, which is faster; the tree itself if the process forbids code generation. */
function lookupIn(tree: RouterContext<Leaf>): Lookup {
  try {
    return compileRouter(tree);
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
    return (method, path) => findRoute(tree, method, path);
  }
}

/** Returns the best route whose compilers accept the values, after a compiler of the best match refused one. */
function findNext(tree: RouterContext<Leaf>, path: string): TableMatch | null {
  const ranked = findAllRoutes(tree, "", path).reverse();
  for (const equals of Map.groupBy(ranked, ({ data }) => data.variant.tie).values()) {
    for (const { data, params } of equals.sort((a, b) => a.data.variant.order - b.data.variant.order)) {
      const match = data.fixed ?? read(data.variant, params);
      if (match !== null) return match;
    }
  }
  return null;
}

/**
 * Returns what a variant captured, decoded; `null` if a value contains characters that aren't allowed in any value, or
 * its compiler refuses it.
 */
function read(variant: RouteVariant, raw: Readonly<Record<string, string>> | undefined): TableMatch | null {
  const params = dictionary<string | null>();
  for (const { name, compiler } of variant.captured) {
    const segment = raw![name]!;
    const value = segment.includes("%") ? decodeSegment(segment) : segment;
    if (value === null) return null;
    const accepted = compiler.read === undefined ? value : compiler.read(value);
    if (accepted === null) return null;
    params[name] = accepted;
  }
  for (const name of variant.absent) params[name] = null;
  return { route: variant.route, params };
}

function readFixed(variant: RouteVariant): TableMatch {
  const params = dictionary<string | null>();
  for (const name of variant.absent) params[name] = null;
  return { route: variant.route, params: Object.freeze(params) };
}
