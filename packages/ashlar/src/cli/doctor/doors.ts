import type { CallExpression, Node } from "@babel/types";
import type { Door } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { routeLabel } from "../../http/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";

/** A route by which someone can get into an account. */
export interface ListedDoor {
  /** The door's name; for one of the application's routes, the call in its handler: `attemptById()`. */
  readonly door: string;
  /** The door's result, as in `Door`; `login` for one of the application's routes. */
  readonly opens: Door["opens"];
  /** Method and path. */
  readonly route: string;
  /** Where the route is defined. */
  readonly location: string;
  /** The guard whose steps the door asks for. */
  readonly guard: string;
  /** The names of the steps that the door asks for, in order. */
  readonly steps: readonly string[];
  /** The steps that this guard doesn't ask for, but another guard with the same users does. */
  readonly missing: readonly string[];
}

/** The calls with which a handler logs a user in. */
const CALLS: ReadonlySet<string> = new Set(["attempt", "attemptById", "enter", "login", "loginAs"]);
const GUARD = "guard:";

/**
 * Lists the doors of an application: the routes of the doors declared by its features, and its own routes with handlers
 * that call a function to log a user in. Calls inside functions that handlers call are not found.
 */
export async function doorsOf(application: Application): Promise<readonly ListedDoor[]> {
  const { container, features, router } = application;
  if (!container.has("auth")) return [];
  const registry = container.make("auth");
  const declared = features.flatMap(({ feature }) => Object.entries(feature.doors ?? {}));
  // First the doors that name the route itself: passkeys.register.store isn't register.store of a guard called passkeys.
  const doorOf = ({ name }: CompiledRoute): (typeof declared)[number] | undefined =>
    declared.find(([, { routes }]) => routes.some((one) => one === name)) ??
    declared.find(([, { routes }]) => routes.some((one) => name?.endsWith(`.${one}`) === true));
  const { parseExpression } = await import("@babel/parser");
  const doors: ListedDoor[] = [];
  const add = (route: CompiledRoute, door: string, opens: Door["opens"], guard: string): void => {
    const steps = registry.stepsOf(guard).map(({ name }) => name);
    const fewer = registry.guardsWithFewerSteps.filter((one) => one.guard === guard);
    const missing = [...new Set(fewer.flatMap((one) => one.steps))];
    doors.push({ door, opens, route: routeLabel(route), location: route.location, guard, steps, missing });
  };
  for (const route of router.routes) {
    const own = route.mark === null ? undefined : doorOf(route);
    const active = guardOf(route, registry.names, registry.defaultName);
    if (own !== undefined) {
      const [name, { opens, guard }] = own;
      add(route, name, opens, prefixOf(route, own[1], registry.names) ?? guard?.(application) ?? active);
      continue;
    }
    for (const { name, guard } of callsIn(handlerText(route), parseExpression)) {
      if (registry.names.includes(guard ?? active)) add(route, `${name}()`, "login", guard ?? active);
    }
  }
  return doors;
}

/** The guard or driver in the prefix of a route's name, such as `admin` in `admin.login.store`. */
function prefixOf({ name }: CompiledRoute, { routes }: Door, guards: readonly string[]): string | null {
  const prefix = routes.flatMap((one) => (name!.endsWith(`.${one}`) ? [name!.slice(0, -one.length - 1)] : []))[0];
  return prefix !== undefined && guards.includes(prefix) ? prefix : null;
}

/** The guard that is active in a route's handler, which is the innermost one named in its middleware. */
function guardOf({ middleware }: CompiledRoute, guards: readonly string[], other: string): string {
  const named = middleware.findLast((text) => text.startsWith(GUARD))?.slice(GUARD.length);
  return named !== undefined && guards.includes(named) ? named : other;
}

/** The text of a route's own handler, as an expression; `null` if it is not a function. */
function handlerText({ handler }: CompiledRoute): string | null {
  if (typeof handler === "function") return asExpression(String(handler));
  if (!Array.isArray(handler)) return null;
  const [controller, name] = handler as readonly [{ readonly prototype: object }, string];
  const method = (controller.prototype as Record<string, unknown>)[name];
  return typeof method === "function" ? asExpression(String(method)) : null;
}

/** A method's text is only valid as a member of an object. */
function asExpression(text: string): string {
  return /^(?:async\s+)?(?:function\b|\(|[\w$]+\s*=>)/.test(text) ? `(${text})` : `({ ${text} })`;
}

/** A call that logs a user in. */
interface LoginCall {
  readonly name: string;
  /** The guard, if the call names it: `auth.guard("staff").loginAs(…)`. */
  readonly guard: string | null;
}

function callsIn(text: string | null, parse: (text: string) => Node): readonly LoginCall[] {
  if (text === null) return [];
  const found: LoginCall[] = [];
  try {
    visit(parse(text), (call) => {
      const { callee } = call;
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const { name } = callee.property;
      if (CALLS.has(name) && mentionsAuth(callee.object)) found.push({ name, guard: namedGuard(callee.object) });
    });
  } catch {
    // The text can't be parsed alone, such as a native function's, so there is nothing to find.
  }
  return found;
}

/** Reports whether an expression is `auth`, `context.auth`, or one of its guards. */
function mentionsAuth(node: Node): boolean {
  if (node.type === "Identifier") return node.name === "auth" || node.name === "guard";
  if (node.type === "MemberExpression") {
    const isAuth = node.property.type === "Identifier" && node.property.name === "auth";
    return isAuth || mentionsAuth(node.object);
  }
  return node.type === "CallExpression" && mentionsAuth(node.callee);
}

function namedGuard(node: Node): string | null {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return null;
  const { property } = node.callee;
  const [name] = node.arguments;
  const isGuard = property.type === "Identifier" && property.name === "guard";
  return isGuard && name?.type === "StringLiteral" ? name.value : null;
}

function visit(node: Node, onCall: (call: CallExpression) => void): void {
  if (node.type === "CallExpression") onCall(node);
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one?.type === "string") visit(one as Node, onCall);
    }
  }
}
