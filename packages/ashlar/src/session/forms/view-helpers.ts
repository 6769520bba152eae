import type { HttpContext } from "../../http/index.ts";
import { dictionary, type Message } from "../../support/index.ts";
import { shownSession } from "../sessions/request-session.ts";
import { CsrfField, csrfToken } from "./csrf-field.ts";

type HelperName = "csrf_field" | "csrf_token" | "old" | "errors" | "flash";

/**
 * The values about the request's session that every view has, by name. The first one that is used opens the session.
 * Outside of a session, for example on the page for an unknown address, and if it can't be read, they are empty.
 */
export const VIEW_HELPERS: Readonly<Record<HelperName, (context: HttpContext) => unknown>> = {
  csrf_field: (context) => context.csrfField,
  csrf_token: (context) => () => (shownSession(context) === null ? "" : csrfToken(context)),
  old:
    (context) =>
    (name: string, fallback: unknown = "") =>
      shownSession(context)?.session.old(name, fallback) ?? fallback,
  errors: (context) => shownSession(context)?.session.errors() ?? dictionary<Message[]>(),
  flash:
    (context) =>
    (key: string, fallback: unknown = null) =>
      shownSession(context)?.session.flashed(key, fallback) ?? fallback,
};

/** The same for templates rendered outside of a request, such as mails: everything is empty. */
export const NEUTRAL_HELPERS: Readonly<Record<HelperName, unknown>> = Object.freeze({
  csrf_field: new CsrfField(null),
  csrf_token: () => "",
  old: (_name: string, fallback: unknown = "") => fallback,
  errors: Object.freeze(dictionary()),
  flash: (_key: string, fallback: unknown = null) => fallback,
});
