import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type MaybePromise, type RegisteredUser } from "../../support/index.ts";
import "../errors.ts";

/**
 * One way to pass a login step, or to give a proof again, as listed for API clients in `flows`:
 *
 * ```ts
 * const flows: readonly LoginFlow[] = [{ id: "totp", field: "code" }, { id: "recovery_code", field: "recovery_code" }];
 * ```
 *
 * Further members are sent along as they are: for example, where to get a challenge.
 */
export interface LoginFlow {
  /** What it is: `totp`, `recovery_code`, `passkey`. */
  readonly id: string;
  /** The input that the proof is sent in: `code`, `assertion`; missing if there isn't one, as for terms to accept. */
  readonly field?: string;
  /**
   * Where the input is sent, by POST, as a path or a URL. Default: the page of the step or the proof. For a login at a
   * token endpoint, it is always that endpoint.
   */
  readonly url?: string;
  readonly [further: string]: unknown;
}

/** A step or a proof, which may list how it can be passed or given. */
interface WithFlows {
  readonly name: string;
  readonly page?: string;
  flows?(user: RegisteredUser, context: HttpContext): MaybePromise<readonly LoginFlow[]>;
}

/**
 * Lists the ways in which a user can pass a step with a guard, or give a proof; without a list, there is one, with the
 * name of the step or the proof.
 *
 * @throws `E_INVALID_LOGIN_STEP` if the step or the proof lists anything else
 */
export async function flowsOf(
  context: HttpContext,
  guard: string,
  user: object,
  asked: WithFlows,
): Promise<readonly LoginFlow[]> {
  const { name, page = null } = asked;
  const listed: unknown =
    asked.flows === undefined ? [{ id: name }] : await asked.flows(user as RegisteredUser, context);
  if (isFlowList(listed)) return locatedFlows(context, guard, page, listed);
  const problem = `flows of the login step or proof "${name}" did not return a list of ways to pass it.`;
  throw new AshlarError("E_INVALID_LOGIN_STEP", `${problem} Return [{ id: "totp", field: "code" }].`);
}

/** Adds the URL of a guard's page to flows without their own URL, if the page exists. */
export function locatedFlows(
  context: HttpContext,
  guard: string,
  page: string | null,
  flows: readonly LoginFlow[],
): readonly LoginFlow[] {
  const url = page === null ? null : pageUrl(context, guard, page);
  return url === null ? flows : flows.map((flow) => ({ ...flow, url: flow.url ?? url }));
}

/**
 * The URL of a guard's page, or of its form in an application without pages; `null` if there is neither, and for a
 * visitor without a session, for whom no login waits on a page.
 */
export function pageUrl({ auth, visitor }: HttpContext, guard: string, page: string): string | null {
  const { pages } = auth.registry;
  if (visitor === null) return null;
  const route = [page, `${page}.store`].find((one) => pages.has(guard, one));
  return route === undefined ? null : pages.to(guard, route);
}

function isFlowList(listed: unknown): listed is readonly LoginFlow[] {
  return Array.isArray(listed) && listed.every((flow) => typeof flow?.id === "string" && flow.id !== "");
}
