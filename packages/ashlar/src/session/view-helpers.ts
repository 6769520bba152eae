import type { HttpContext } from "../http/index.ts";
import { dictionary } from "../support/index.ts";
import { CsrfField, csrfToken } from "./csrf-field.ts";
import { heldSession } from "./request-session.ts";

type HelperName = "csrf_field" | "csrf_token" | "old" | "errors" | "flash";

let preparing: Promise<void> | null = null;
let isPrepared = false;

/** Makes views print {@link CsrfField} as the markup it is. They are waited for here once, as for the first page anyway. */
export function prepareViews(): Promise<void> | null {
  if (isPrepared) return null;
  preparing ??= import("edge.js").then(({ edgeGlobals }) => {
    // What the engine does not escape, it knows by the class, of which it hands out instances only.
    const safe: object = Object.getPrototypeOf(edgeGlobals.html.safe(""));
    Object.setPrototypeOf(CsrfField.prototype, safe);
    isPrepared = true;
  });
  return preparing;
}

/**
 * What every view knows of the session of its request, by name. The session is opened by the first of it that is used.
 * Outside of any session, as on the page of an unknown address, there is nothing to show.
 */
export const VIEW_HELPERS: Readonly<Record<HelperName, (context: HttpContext) => unknown>> = {
  csrf_field: (context) => context.csrfField,
  csrf_token: (context) => () => (heldSession(context) === null ? "" : csrfToken(context)),
  old:
    (context) =>
    (name: string, fallback: unknown = "") =>
      heldSession(context)?.session.old(name, fallback) ?? fallback,
  errors: (context) => heldSession(context)?.session.errors() ?? dictionary<string[]>(),
  flash:
    (context) =>
    (key: string, fallback: unknown = null) =>
      heldSession(context)?.session.flashed(key, fallback) ?? fallback,
};

/** The same for what is rendered outside of any request, such as mails: nothing to show. */
export const NEUTRAL_HELPERS: Readonly<Record<HelperName, unknown>> = Object.freeze({
  csrf_field: new CsrfField(null),
  csrf_token: () => "",
  old: (_name: string, fallback: unknown = "") => fallback,
  errors: Object.freeze(dictionary()),
  flash: (_key: string, fallback: unknown = null) => fallback,
});
