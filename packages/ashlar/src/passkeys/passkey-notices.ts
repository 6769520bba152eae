import { type AccountMailMap, queueAccountMail } from "../auth/index.ts";
import type { Application } from "../boot/index.ts";
import type { EventMap } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import { currentDate, type RegisteredUser } from "../support/index.ts";
import type { PasskeyEvent } from "./events.ts";

/** The names of events about passkeys. */
type PasskeyEventName = keyof EventMap & `passkeys.${string}`;

const MAILS = {
  "passkeys.added": "passkeyAdded",
  "passkeys.renamed": null,
  "passkeys.removed": "passkeyRemoved",
  "passkeys.copied": "passkeyCopied",
} as const satisfies Record<PasskeyEventName, keyof AccountMailMap | null>;

/** Which passkey of which user an event is about. */
type PasskeyFacts = Omit<PasskeyEvent, "time" | "address" | "user"> & { readonly user: object };

/** The page of a user's passkeys. */
const PAGE = "account.passkeys";

/** Reports what happens to passkeys: as events, and to their owners by mail. */
export class PasskeyNotices {
  readonly #application: Application;

  constructor(application: Application) {
    this.#application = application;
  }

  /** Emits an event, and queues the mail to the owner, if there is one. In a transaction, both wait for its commit. */
  async report(name: PasskeyEventName, context: HttpContext, facts: PasskeyFacts): Promise<void> {
    const { container } = this.#application;
    const event = this.emit(name, context, facts);
    const { user } = event;
    const mail = MAILS[name];
    const { email } = user as { readonly email?: unknown };
    if (mail === null || !container.has("mail") || typeof email !== "string") return;
    const { auth } = context;
    const passkeysPath = auth.hasRoute(PAGE) ? auth.route(PAGE) : null;
    const data = { user, guard: event.guard, name: event.name, happenedAt: event.time, passkeysPath };
    await queueAccountMail(this.#application, mail, email, data);
  }

  /** Emits an event. */
  emit(name: PasskeyEventName, context: HttpContext, facts: PasskeyFacts): PasskeyEvent {
    const { container } = this.#application;
    const user = facts.user as RegisteredUser;
    const event: PasskeyEvent = { ...facts, user, time: currentDate(), address: context.request.clientAddress };
    if (container.has("events")) void container.make("events").emit(name, event);
    return event;
  }
}
