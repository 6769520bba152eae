import type { HttpContext } from "../http/index.ts";
import { type Dictionary, dictionary, type FieldErrors } from "../support/index.ts";
import { CsrfField, csrfToken } from "./csrf-field.ts";
import { heldSession } from "./request-session.ts";

type Helpers = Readonly<Record<"csrf_field" | "csrf_token" | "old" | "errors" | "flash", unknown>>;

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

/** What every view knows of the session of its request. The session is opened by the first of it that is used. */
export function viewHelpers(context: HttpContext): Helpers {
  return {
    csrf_field: context.csrfField,
    csrf_token: () => (heldSession(context) === null ? "" : csrfToken(context)),
    old: (name: string, fallback: unknown = "") => heldSession(context)?.session.old(name, fallback) ?? fallback,
    errors: lazyErrors(() => heldSession(context)?.session.errors() ?? dictionary<string[]>()),
    flash: (key: string, fallback: unknown = null) => heldSession(context)?.session.flashed(key, fallback) ?? fallback,
  };
}

/** The same for pages outside of any session, such as that of an unknown address: nothing to show. */
export const NEUTRAL_HELPERS: Helpers = Object.freeze({
  csrf_field: new CsrfField(null),
  csrf_token: () => "",
  old: (_name: string, fallback: unknown = "") => fallback,
  errors: Object.freeze(dictionary()),
  flash: (_key: string, fallback: unknown = null) => fallback,
});

/** Messages by field that are read when the first is asked for. */
function lazyErrors(read: () => FieldErrors): Dictionary<string[]> {
  let errors: FieldErrors | null = null;
  const current = (): FieldErrors => {
    errors ??= read();
    return errors;
  };
  return new Proxy(dictionary<string[]>(), {
    get: (_target, field) => (typeof field === "string" ? current()[field] : undefined),
    has: (_target, field) => field in current(),
    ownKeys: () => Object.keys(current()),
    getOwnPropertyDescriptor: (_target, field) => Object.getOwnPropertyDescriptor(current(), field),
  });
}
