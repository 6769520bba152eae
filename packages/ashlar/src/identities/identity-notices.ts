import { queueAccountMail } from "../auth/index.ts";
import type { Application } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import { currentDate, type RegisteredUser } from "../support/index.ts";
import type { IdentityEvent } from "./events.ts";

type IdentityEventName = "identities.connected" | "identities.disconnected";

const MAILS = {
  "identities.connected": "identityConnected",
  "identities.disconnected": "identityDisconnected",
} as const;

/** Which identity of which user an event is about. */
type IdentityFacts = Pick<IdentityEvent, "identityId" | "provider" | "label"> & { readonly user: object };

/** The page of a user's identities. */
const PAGE = "account.identities";

/** Reports what happens to identities: as events, and to their owners by mail. */
export class IdentityNotices {
  readonly #application: Application;

  constructor(application: Application) {
    this.#application = application;
  }

  /** Emits an event, and queues the mail to the owner. In a transaction, both wait for its commit. */
  async report(name: IdentityEventName, context: HttpContext, facts: IdentityFacts): Promise<void> {
    const { user, guard, label, time } = this.emit(name, context, facts);
    const { email } = user as { readonly email?: unknown };
    if (!this.#application.container.has("mail") || typeof email !== "string") return;
    const { auth } = context;
    const identitiesPath = auth.hasRoute(PAGE) ? auth.route(PAGE) : null;
    const data = { user, guard, label, happenedAt: time, identitiesPath };
    await queueAccountMail(this.#application, MAILS[name], email, data);
  }

  /** Emits an event. */
  emit(name: IdentityEventName, context: HttpContext, facts: IdentityFacts): IdentityEvent {
    const { container } = this.#application;
    const event: IdentityEvent = {
      ...facts,
      guard: context.auth.guardName,
      user: facts.user as RegisteredUser,
      time: currentDate(),
      address: context.request.clientAddress,
    };
    if (container.has("events")) void container.make("events").emit(name, event);
    return event;
  }
}
