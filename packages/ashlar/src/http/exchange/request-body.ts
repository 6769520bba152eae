import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { NO_BODY, type RequestBody, readBody, refuseTooLarge, STREAMED_BODY } from "../bodies/body.ts";
import {
  alreadyRead,
  type BodySource,
  type Bytes,
  bodySource,
  hasBody,
  inviteBody,
  refuseAnnounced,
  tooLarge,
} from "../bodies/body-source.ts";
import type { FormPart } from "../bodies/form-part.ts";
import type { HeldBody } from "../bodies/held-bodies.ts";
import { closeWithResponse, endWithResponse } from "../bodies/response-end.ts";
import type { UploadedFile } from "../bodies/uploaded-file.ts";
import { RequestInputs } from "../inputs/request-inputs.ts";
import type { HttpServices, RouteInfo } from "./services.ts";

/**
 * Returns a request's body as a stream that takes data from the client only as it is read, and counts the bytes. The
 * server handles the rest once the response has been sent.
 *
 * @param maxBytes may be `Infinity`
 * @throws `E_INTERNAL` if something else has read it
 */
export function bodyStream(raw: Request, maxBytes: number): ReadableStream<Bytes> {
  if (!hasBody(raw)) return streamOf({ read: () => Promise.resolve(null), close: ignore }, 0);
  const source = bodySource(raw);
  inviteBody(raw);
  closeWithResponse(raw, () => source.close());
  return streamOf(source, maxBytes);
}

function streamOf(source: BodySource, maxBytes: number): ReadableStream<Bytes> {
  let left = maxBytes;
  const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
    const chunk = await source.read();
    if (chunk === null) return controller.close();
    left -= chunk.byteLength;
    if (left >= 0) return controller.enqueue(chunk);
    source.close();
    throw tooLarge(maxBytes);
  };
  // Doesn't read ahead, so data that the reader hasn't asked for stays with the client.
  return new ReadableStream({ pull, cancel: () => source.close() }, { highWaterMark: 0 });
}

/** The error if the body of a streaming route is read in another way. */
export function streamedBody(wanted: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the route leaves its body to the handler (streamsBody), which reads it with request.bodyStream().`,
  );
}

/** The error if a form whose files are streamed is read in another way. */
export function streamedParts(wanted: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the route leaves the files of a form to the handler (streamsFiles), which reads them with request.parts().`,
  );
}

/** The error if a body is streamed on a route that reads it before the handler runs. */
export function notStreamed(wanted: string, declaration: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the body of this route is read before its handler runs. Add .${declaration} to the route to stream it.`,
  );
}

function ignore(): void {}

/** The body of a request: reads it at the right time, and provides it in forms other than inputs. */
export abstract class RequestWithBody extends RequestInputs {
  /** The platform's request. Its body has been read, or is left to {@link bodyStream}. */
  readonly raw: Request;
  #body: RequestBody = NO_BODY;
  #loading: Promise<void> | null = null;
  #isLoaded = false;
  #keepsBytes = false;
  #stream: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  #held: HeldBody | null = null;
  #bodyChecks: (() => void)[] = [];

  constructor(raw: Request) {
    super();
    this.raw = raw;
  }

  /** The matching route, or `null` if none matched. */
  abstract route(): RouteInfo | null;

  /** @internal */
  protected abstract get services(): HttpServices;

  /** @internal Called when the body has been read. */
  protected abstract bodyWasRead(): void;

  /** @internal The body as read. */
  protected get readBody(): RequestBody {
    return this.#body;
  }

  /**
   * Reads the body, once, and runs the callbacks that wait for it. Until then, there are only the query's inputs. The
   * application calls it before the handler, and before any middleware that doesn't declare that it can run earlier
   * (see `Middleware.beforeBody`). The body stays unread on a route with `streamsBody()`, and so do a form's files, and
   * everything after them, on a route with `streamsFiles()`.
   *
   * @param routes the routes that the request may be for; default: the matched one
   * @returns nothing if there is nothing to wait for
   * @throws `E_PAYLOAD_TOO_LARGE`, `E_INVALID_BODY`, `E_UNSUPPORTED_MEDIA_TYPE`; `E_OVERLOADED` or `E_DISK_FULL` if
   * there is no room for it; and errors of the callbacks of {@link whenBodyIsRead}
   */
  loadBody(routes: readonly (RouteInfo | null)[] = [this.route()]): MaybePromise<void> {
    if (this.#isLoaded || (this.#loading === null && !hasBody(this.raw))) return;
    if (this.route()?.streamsBody === true) return this.#leaveBody();
    this.#loading ??= this.#load(routes.map((route) => route?.bodyLimitBytes ?? null));
    return this.#loading;
  }

  async #load(routeLimits: readonly (number | null)[]): Promise<void> {
    const { bodies, limits } = this.services;
    const held = bodies.begin();
    this.#held = held;
    const reading = { routeLimits, keepsBytes: this.#keepsBytes, leavesFiles: this.route()?.streamsFiles === true };
    try {
      this.#body = await readBody(this.raw, limits, held, reading);
    } catch (error) {
      await held.release();
      throw error;
    }
    this.forgetBody();
    this.bodyWasRead();
    // If a check throws, the body counts as unread, and every caller that waits for it gets the same error.
    for (const check of this.#bodyChecks) check();
    this.#isLoaded = true;
  }

  /** @internal Releases the body's resources when the response has been sent. Called when the handler is done. */
  endWith(response: Response): Response {
    const held = this.#held;
    if (held === null) return response;
    const body = this.#body;
    const rest = body.kind === "parts" ? body.rest : null;
    return endWithResponse(this.raw, response, held.hasFiles || rest !== null, () => {
      rest?.close();
      return held.release();
    });
  }

  #leaveBody(): void {
    refuseAnnounced(this.raw, this.#maxStreamedBytes);
    this.#body = STREAMED_BODY;
    for (const check of this.#bodyChecks) check();
    this.#isLoaded = true;
  }

  get #maxStreamedBytes(): number {
    return this.route()?.bodyLimitBytes ?? this.services.limits.maxBodyBytes;
  }

  /**
   * @internal Checks a body that was read for several routes against the limit of its actual route.
   *
   * @throws `E_PAYLOAD_TOO_LARGE`
   */
  checkBodySize({ bodyLimitBytes = null }: RouteInfo): void {
    refuseTooLarge(this.#body, this.services.limits, bodyLimitBytes);
  }

  /**
   * Runs a check once the body has been read, before any other code sees it; at once if it has already been read, or if
   * there isn't one. If the check throws, the request is refused, and the handler isn't called. For middleware that
   * runs before the body is read.
   */
  whenBodyIsRead(check: () => void): void {
    if (this.#isLoaded || !hasBody(this.raw)) check();
    else this.#bodyChecks.push(check);
  }

  /** Whether the body has not been read yet. */
  get awaitsBody(): boolean {
    return !this.#isLoaded && hasBody(this.raw);
  }

  /**
   * The bytes of a body of any type, exactly as they arrived, for example to check a signature. The inputs can be read
   * as well, before or after. Each call returns a copy, which is empty if the request has no body.
   *
   * ```ts
   * const text = new TextDecoder().decode(await request.rawBody());
   * ```
   *
   * The bytes of a form with files are kept in addition to the files only up to `APP.limits.maxBodyBytes`, unless a
   * middleware that runs before the body is read has asked for them.
   *
   * @throws `E_INTERNAL` if they were not kept, if the route has `streamsBody()` or `streamsFiles()`, or if a framework
   * around the application has read them; errors of {@link loadBody}, in a middleware that runs before the body is read
   */
  async rawBody(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.route()?.streamsBody === true) throw streamedBody("rawBody()");
    if (this.route()?.streamsFiles === true) throw streamedParts("rawBody()");
    this.#keepsBytes = true;
    await this.loadBody();
    if (this.#body.kind === "none" || this.#body.kind === "streamed" || this.#body.kind === "parts") {
      // The host has already read the body.
      if (!hasBody(this.raw) && announcesBody(this.raw)) throw alreadyRead();
      return new Uint8Array();
    }
    if (this.#body.bytes === null) throw notKept(this.services.limits.maxBodyBytes);
    return new Uint8Array(this.#body.bytes);
  }

  /**
   * The body as a stream, on a route with `streamsBody()`. Data is taken from the client only as it is read, so a body
   * of any size needs little memory. Each call returns the same stream, which is empty if the request has no body.
   *
   * ```ts
   * import { createWriteStream } from "node:fs";
   * import { pipeline } from "node:stream/promises";
   *
   * Route.put("/backup", async ({ request, response }) => {
   *   await pipeline(request.bodyStream(), createWriteStream("storage/backup.tar"));
   *   return response.noContent();
   * }).middleware("auth").streamsBody().bodyLimit("20gb");
   * ```
   *
   * Reading it fails with `E_PAYLOAD_TOO_LARGE` (413) once the body is larger than the route's limit, and with
   * `E_INVALID_BODY` (400) if the client disconnects before the end. It ends with the response at the latest.
   *
   * Security: the client controls every byte of it. Write to a name that you choose, and remove incomplete files.
   *
   * @throws `E_INTERNAL` on any other route, or if a framework around the application has read the body
   */
  bodyStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    if (this.route()?.streamsBody !== true) throw notStreamed("bodyStream()", "streamsBody()");
    this.#stream ??= bodyStream(this.raw, this.#maxStreamedBytes);
    return this.#stream;
  }

  /**
   * The parts of a form while they arrive, on a route with `streamsFiles()`: from the first file on, in the form's
   * order. The fields before it are inputs. The unread rest of a part is skipped. A request without a form has no
   * parts.
   *
   * ```ts
   * Route.post("/films", async ({ request, response }) => {
   *   for await (const part of request.parts()) {
   *     if (part.isFile) await part.moveTo(`storage/films/${crypto.randomUUID()}.${part.extension}`);
   *   }
   *   return response.status(201).json({ title: request.string("title") });
   * }).middleware("auth").streamsFiles().bodyLimit("20gb");
   * ```
   *
   * The loop fails with `E_PAYLOAD_TOO_LARGE` (413) once the form is larger than the route's limit, and with `E_INVALID_BODY`
   * (400) if it is malformed, if it has more fields or files than `APP.limits` allows, or if the client disconnects.
   *
   * Security: the loop may fail after some files have been saved. Remove these, or clean up files that no row refers
   * to.
   *
   * @throws `E_INTERNAL` on any other route
   */
  async *parts(): AsyncGenerator<FormPart, void> {
    if (this.route()?.streamsFiles !== true) throw notStreamed("parts()", "streamsFiles()");
    if (this.#body.kind !== "parts") return;
    const { rest } = this.#body;
    for (let part = await rest.next(); part !== null; part = await rest.next()) yield part;
  }

  override get body(): Record<string, unknown> {
    this.#needBody("request.body");
    return super.body;
  }

  override bodyInput(name: string): unknown {
    this.#needBody("bodyInput()");
    return super.bodyInput(name);
  }

  override files(name: string): UploadedFile[] {
    if (this.#body.kind === "parts") throw streamedParts("An uploaded file");
    this.#needBody("An uploaded file");
    return super.files(name);
  }

  #needBody(wanted: string): void {
    if (this.#body.kind === "streamed") throw streamedBody(wanted);
  }
}

function announcesBody({ headers }: Request): boolean {
  return Number(headers.get("content-length")) > 0 || headers.has("transfer-encoding");
}

function notKept(maxBytes: number): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `The bytes of a form with files are kept up to APP.limits.maxBodyBytes (${maxBytes}). For larger ones, call rawBody() in a ` +
      "middleware that declares beforeBody(), or add .streamsBody() to the route.",
  );
}
