import {
  baseOf,
  type HttpContext,
  isAmbiguousTarget,
  requestAuthority,
  sentTarget,
  targetPath,
} from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { isSecretName } from "../../support/index.ts";
import { servedExchange } from "../requests/served-request.ts";

/** Replaces the rest of a path, or a segment, that may contain a secret. */
const CUT = "…";
/** A parameter of a route's pattern, and its compiler. */
const PARAMETER = /[@?](\w+)(?::(\w+))?/g;
/** A segment that is safe to log if no route has a parameter in its place. */
const PLAIN_WORD = /^[a-z][a-z.-]{0,23}$/;
/**
 * Everything that a server may interpret as a separator in a path. Separators are kept when an ambiguous path is
 * logged.
 */
const SEPARATOR = /([/\\]|%2f|%5c|(?<=^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=[/\\;]|%2f|%5c|$))/i;
/** The maximum length of a refused path in the log, in characters. */
const MAX_REFUSED_LENGTH = 200;
/**
 * Text that looks generated: at least 20 characters, including digits, lower-case and capital letters, or a JSON Web
 * Token.
 */
const RANDOM = /(?<=\/)(?:(?=[^/]*\d)(?=[^/]*[a-z])(?=[^/]*[A-Z])[\w~%.-]{20,}|eyJ[\w.-]{8,})(?=[/?#]|$)/g;

/** The static segments with which paths can begin. */
interface Node {
  readonly children: Map<string, Node>;
  takesParameter: boolean;
}

/** Other applications that handle everything under their prefix. */
interface MountedPrefixes {
  /** Returns the mount at a request's path, or `null`. */
  find(path: string, raw: Request): { readonly prefix: string } | null;
}

/** Decides which parts of a request's path are logged. */
export class LoggablePaths {
  readonly #router: () => Router;
  readonly #mounts: MountedPrefixes;
  /** Reports whether a public file was served under a path. Set when the application has booted. */
  isFile: (path: string) => boolean = () => false;
  #secretPatterns: ReadonlySet<string> | null = null;
  #root: Node | null = null;
  /** The text in the patterns of all routes. */
  #words: ReadonlySet<string> | null = null;

  /** @param router returns the router; called at the first request */
  constructor(router: () => Router, mounts: MountedPrefixes) {
    this.#router = router;
    this.#mounts = mounts;
  }

  /**
   * Returns the form of a request's path that may be logged, without the query, and with the path of `APP_URL`:
   *
   * - The path itself if a route matches it, or the route's pattern if the pattern has a signed parameter, or one with
   *   the name of a secret. A segment that looks like a token is removed.
   * - The pattern of a route for another method, if the path has one.
   * - The path of a public file.
   * - The path as it was sent, if it was refused as ambiguous. Only words that occur as text in routes are kept.
   * - Otherwise, the part of the path that matches static segments of routes, because a mistyped link may contain a
   *   token too. A first segment that is a plain word is kept, unless routes have a parameter there.
   */
  of(context: HttpContext): string {
    const base = baseOf(context.request.raw);
    return base === "" ? this.#within(context) : base + this.#within(context);
  }

  #within({ request }: HttpContext): string {
    const path = request.getPath();
    const route = request.route();
    if (route !== null) return this.#isSecret(route.pattern) ? route.pattern : withoutTokens(path);
    const sent = sentTarget(request.raw);
    if (isAmbiguousTarget(sent)) return this.#ofAmbiguous(sent);
    if (this.isFile(path)) return path;
    const { raw } = request;
    if (path === "/*" && servedExchange(raw)?.req.url === "*") return "*";
    const mount = this.#mounts.find(path, raw);
    if (mount !== null) return path === mount.prefix ? path : `${mount.prefix}/${CUT}`;
    return this.#patternOfOtherMethod(raw, path) ?? this.#cut(path);
  }

  #isSecret(pattern: string): boolean {
    this.#secretPatterns ??= new Set(
      this.#router()
        .routes.map((route) => route.pattern)
        .filter((pattern) => beforeSecret(pattern) !== null),
    );
    return this.#secretPatterns.has(pattern);
  }

  #patternOfOtherMethod(raw: Request, path: string): string | null {
    try {
      const router = this.#router();
      const host = requestAuthority(raw);
      const [method] = router.allowedMethods(path, host);
      return method === undefined ? null : (router.match(method, path, host)?.route.pattern ?? null);
    } catch {
      // The path is malformed, or the application doesn't have routes yet.
      return null;
    }
  }

  #ofAmbiguous(target: string): string {
    const root = this.#routes();
    this.#words ??= wordsOf(this.#router().routes.map(({ pattern }) => pattern));
    const pieces = targetPath(target).split(SEPARATOR);
    const kept = pieces.map((piece, index) => {
      const isSeparator = index % 2 === 1;
      const isPlain = index === 2 && !root.takesParameter && PLAIN_WORD.test(piece);
      return piece === "" || isSeparator || isPlain || this.#words!.has(decoded(piece)) ? piece : CUT;
    });
    const path = kept.join("");
    const shown = path.length > MAX_REFUSED_LENGTH ? `${path.slice(0, MAX_REFUSED_LENGTH)}${CUT}` : path;
    return target.includes("#") ? `${shown}#${CUT}` : shown;
  }

  #routes(): Node {
    this.#root ??= treeOf(this.#router().routes.map(({ pattern }) => pattern));
    return this.#root;
  }

  #cut(path: string): string {
    const root = this.#routes();
    const segments = path.split("/").slice(1);
    let node: Node | undefined = root;
    let kept = "";
    for (const [index, segment] of segments.entries()) {
      const next: Node | undefined = node?.children.get(segment);
      const isPlain = index === 0 && !root.takesParameter && PLAIN_WORD.test(segment);
      if (next === undefined && !isPlain) {
        const isEnd = segment === "" && index === segments.length - 1;
        return isEnd ? `${kept}/` : `${kept}/${CUT}`;
      }
      kept += `/${segment}`;
      node = next;
    }
    return kept;
  }
}

/** Returns a path or a URL without the segments that look like tokens. */
export function withoutTokens(path: string): string {
  return path.replaceAll(RANDOM, CUT);
}

/**
 * The part of a route's pattern before its first parameter that is signed or has the name of a secret; `null` if it has
 * no such parameter.
 */
export function beforeSecret(pattern: string): string | null {
  for (const { 1: name, 2: compiler, index } of pattern.matchAll(PARAMETER)) {
    if (compiler === "signed" || isSecretName(name!)) return pattern.slice(0, index);
  }
  return null;
}

function wordsOf(patterns: readonly string[]): Set<string> {
  return new Set(patterns.flatMap((pattern) => pattern.split("/")).filter((word) => !/^[@?]/.test(word)));
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return CUT;
  }
}

function treeOf(patterns: readonly string[]): Node {
  const root: Node = { children: new Map(), takesParameter: false };
  for (const pattern of patterns) {
    let node = root;
    for (const segment of pattern.split("/").slice(1)) {
      if (segment.startsWith("@") || segment.startsWith("?")) {
        node.takesParameter = true;
        break;
      }
      let next = node.children.get(segment);
      if (next === undefined) {
        next = { children: new Map(), takesParameter: false };
        node.children.set(segment, next);
      }
      node = next;
    }
  }
  return root;
}
