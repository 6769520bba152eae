import { type HttpContext, hasBody, requestSearch } from "../http/index.ts";
import { AshlarError, type MaybePromise } from "../support/index.ts";
import type { TokenBearer } from "./token-model.ts";
import type { RefusedToken, TokenClaims, TokenService, TokenVerification } from "./token-service.ts";
import "./errors.ts";

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** The API token that the request has, and its content. */
    readonly apiToken: PresentedToken;
  }
}

const INPUT = "token";

/** The API token of one request: looked for, verified and matched to its user at most once each. */
export class PresentedToken {
  readonly #context: HttpContext;
  readonly #service: TokenService;
  #value: string | null | undefined;
  #verification: TokenVerification | null | undefined;

  constructor(context: HttpContext, service: TokenService) {
    this.#context = context;
    this.#service = service;
  }

  /** Waits for the body if the token can be nowhere else. Call it first in code that runs before the body is read. */
  ready(): MaybePromise<void> {
    const { request } = this.#context;
    if (request.awaitsBody && request.bearerToken() === null) return request.loadBody();
  }

  /**
   * The token as it was sent, in the `Authorization` header (RFC 6750 §2.1) or as the input `token`; `null` if there is
   * none.
   *
   * @throws `E_CONFLICTING_TOKENS` if header and input hold different tokens
   */
  get value(): string | null {
    if (this.#value === undefined) this.#value = this.#find();
    return this.#value;
  }

  /**
   * The token's claims, verified without querying the database; `null` if there is no token, or if it is not valid.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  get claims(): TokenClaims | null {
    if (this.#verification === undefined) this.#verification = this.#verify();
    return this.#verification !== null && "claims" in this.#verification ? this.#verification.claims : null;
  }

  /** The value of `WWW-Authenticate` if the token is not accepted (RFC 6750 §3). */
  get challenge(): string {
    return this.value === null ? "Bearer" : 'Bearer error="invalid_token"';
  }

  /**
   * The user that the token proves, or `null`. With `authenticates`, it must be an active token of the user.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  async user(): Promise<TokenBearer | null> {
    await this.ready();
    const { claims } = this;
    if (claims === null) return null;
    if (!this.#service.settings.authenticates) return this.#service.findUser(claims);
    const user = await this.#service.findActiveUser(this.value!, claims);
    if (user === null) this.#refuse({ failure: "inactive", userId: claims.sub });
    return user;
  }

  /** The error for the refused request: the same for every reason, and without the reason. */
  refusal(): AshlarError {
    const code = this.value === null ? "E_UNAUTHENTICATED" : "E_INVALID_TOKEN";
    return new AshlarError(code, undefined, { headers: { "WWW-Authenticate": this.challenge } });
  }

  #find(): string | null {
    const { request } = this.#context;
    const header = request.bearerToken();
    if (header === null) return this.#input();
    request.whenBodyIsRead(() => this.#refuseOtherThan(header));
    if (request.awaitsBody && this.#mayBeInQuery) this.#refuseOtherThan(header);
    return header;
  }

  #refuseOtherThan(header: string): void {
    const input = this.#input();
    // A server that checks one of the two and uses the other can be tricked into acting for another user.
    if (input !== null && input !== header) throw new AshlarError("E_CONFLICTING_TOKENS");
  }

  get #mayBeInQuery(): boolean {
    return this.#service.settings.tokenInQuery && requestSearch(this.#context.request.raw) !== "";
  }

  /** The input; if it is not text, or blank, it is not a token. If it cannot be one, nothing is parsed. */
  #input(): string | null {
    const { request } = this.#context;
    const { tokenInQuery } = this.#service.settings;
    if (!this.#mayBeInQuery && !hasBody(request.raw)) return null;
    const value = tokenInQuery ? request.input(INPUT) : request.bodyInput(INPUT);
    return typeof value === "string" && value !== "" ? value : null;
  }

  #verify(): TokenVerification | null {
    const { value } = this;
    if (value === null) return null;
    const verification = this.#service.verify(value);
    if ("failure" in verification) this.#refuse(verification);
    return verification;
  }

  #refuse(refused: RefusedToken): void {
    this.#service.refused(refused, this.#context.request.clientAddress);
  }
}
