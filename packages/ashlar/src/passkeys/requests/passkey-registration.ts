import type { LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Services } from "../../kernel/index.ts";
import { declareKeyPurpose, digest, type KeyPurpose } from "../../security/index.ts";
import { ValidationError } from "../../support/index.ts";
import { PasskeyRegistrationMail } from "../mails.ts";
import { message } from "../messages.ts";
import type { PasskeyService } from "../passkey-service.ts";
import { newUserHandle, PASSKEY } from "../stored/passkey-store.ts";
import { newPasskey } from "./new-passkey.ts";
import { type CreationOptions, creationOptions, namesOf } from "./passkey-options.ts";
import { amrOf } from "./verified-passkey.ts";

/** The purpose that links to registrations are signed for. */
export const REGISTRATION_KEY: KeyPurpose = declareKeyPurpose("passkey-registration");

/** Someone who has asked for an account, and has proved to own the address. */
export interface PasskeyNewcomer {
  readonly email: string;
  readonly [attribute: string]: string;
}

/** Accounts that have a passkey and no password. */
export class PasskeyRegistration {
  readonly #context: HttpContext;
  readonly #service: PasskeyService;
  readonly #registration: ReturnType<Services["accounts"]["mailProofs"]["registration"]>;

  constructor(context: HttpContext, application: Application, service: PasskeyService) {
    this.#context = context;
    this.#service = service;
    this.#registration = application.container.make("accounts").mailProofs.registration(context, {
      keyPurpose: REGISTRATION_KEY,
      page: "passkeys.register.finish",
      proof: PASSKEY,
      title: "a registration with a passkey",
      mail: (data) => new PasskeyRegistrationMail(data),
    });
  }

  /** See `RequestPasskeys.requestRegistration`. */
  request(attributes: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#registration.request(attributes);
  }

  /** See `RequestPasskeys.findRegistration`. */
  find(token: unknown): Promise<PasskeyNewcomer | null> {
    return this.#registration.find(token);
  }

  /** See `RequestPasskeys.registrationOptions`. */
  async options(token: unknown): Promise<CreationOptions> {
    const newcomer = await this.#registration.require(token);
    const facts = { purpose: "register", subject: subjectOf(token), userHandle: newUserHandle() } as const;
    return creationOptions(this.#context, this.#service, facts, [], namesOf(newcomer));
  }

  /** See `RequestPasskeys.register`. */
  async complete(token: unknown, options: { readonly remember?: boolean }): Promise<LoginResult> {
    const { auth } = this.#context;
    const newcomer = await this.#registration.require(token);
    const { made, facts } = await newPasskey(this.#context, this.#service, ["register"], subjectOf(token), null);
    const user = await this.#registration.create(newcomer, {}, async (account) => {
      const added = await this.#service.store.add(account, made, facts);
      if (added === null || added === "known") throw new ValidationError({ credential: [message("passkeys.known")] });
      const event = { guard: auth.webGuard.name, user: account, passkeyId: added.id, name: facts.name };
      this.#service.notices.emit("passkeys.added", this.#context, event);
    });
    // The authenticator has verified its user.
    const amr = amrOf({ isUserVerified: true, isSynced: made.isSynced });
    return auth.webGuard.enter(user, { ...options, by: PASSKEY, amr, firstLogin: true });
  }
}

/** Names a registration in a challenge. */
function subjectOf(token: unknown): string {
  return digest(`registration ${token}`);
}
