import { basename } from "node:path";
import {
  type ByteStream,
  type FileBytes,
  readFileBytes,
  type StreamSource,
  toByteStream,
} from "../bodies/byte-stream.ts";
import { closeWithResponse } from "../bodies/response-end.ts";
import { attachment } from "../headers/content-disposition.ts";
import { checkHeader } from "../headers/header-fields.ts";
import { FastResponse, FreshResponse } from "../responses/fast-response.ts";
import { selectFromFile } from "./file-selection.ts";
import { absoluteTarget, asciiTarget, checkRouteTarget, externalTarget, redirectTarget } from "./redirect-target.ts";
import { ResponseHead } from "./response-head.ts";
import { HTML_TYPE, JSON_TYPE, serialize, TEXT_TYPE } from "./serialize.ts";
import type { QueryParameters, RouteParameters } from "./services.ts";

/** The types of an outgoing response's body. */
type Body = string | Uint8Array<ArrayBuffer> | ReadableStream | null;

/** Responses with these statuses have no content (RFC 9110 §6.4.1). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const NO_HEADERS: readonly [string, string][] = [];

/** The media type of server-sent events. */
const EVENTS = /^text\/event-stream\s*(?:;|$)/i;

/**
 * The response under construction. Every method but the last of a chain returns the response itself:
 *
 * ```ts
 * return response.status(201).header("Location", "/orders/7").json(order);
 * ```
 *
 * Everything that is set here is added to the handler's result: the status to a string or an object, and headers and
 * cookies also to a `Response`, whose own headers take precedence.
 */
export class HttpResponse extends ResponseHead {
  #body: Body = null;
  #contentHeaders: readonly (readonly [string, string])[] = NO_HEADERS;
  #hasContent = false;
  /** The body of a response that has been built, and that now belongs to that response. */
  #handedOver: Body = null;

  /**
   * Responds with JSON; uses the value's `toJSON`.
   *
   * @throws `E_UNSERIALIZABLE_RESULT` for values that JSON cannot represent
   */
  json(data: unknown): this {
    return this.#content(serialize(this.context, data), ["content-type", JSON_TYPE]);
  }

  /**
   * Responds with a page.
   *
   * Security: the text is sent unchanged. Views escape user input; this method does not.
   */
  html(text: string): this {
    return this.#content(text, ["content-type", HTML_TYPE]);
  }

  /** Responds with plain text. */
  text(text: string): this {
    return this.#content(text, ["content-type", TEXT_TYPE]);
  }

  /** Responds with 204 and no content. */
  noContent(): this {
    return this.status(204).#content(null);
  }

  /**
   * Responds with a stream, chunk by chunk. Event streams (`text/event-stream`) have `X-Accel-Buffering: no`, without
   * which nginx would hold back events.
   *
   * @param type the `Content-Type`
   */
  stream(source: StreamSource, type = "application/octet-stream"): this {
    checkHeader("content-type", type);
    const body = this.#streaming(toByteStream(source));
    if (!EVENTS.test(type)) return this.#content(body, ["content-type", type]);
    return this.#content(body, ["content-type", type], ["x-accel-buffering", "no"]);
  }

  /**
   * Responds with bytes for the browser to save under a name.
   *
   * @param bytes the content to save
   */
  download(bytes: Uint8Array<ArrayBuffer>, name: string): this;
  /**
   * Responds with a file for the browser to save, streamed, so that its size does not matter. A browser that already
   * has the file gets 304, and one that lost its connection gets the rest (206). The response has `ETag` and
   * `Last-Modified`, and supports single ranges (RFC 9110 §13, §14), unless a status was set before.
   *
   * Security: never build the path from input, or a client can request any file on the machine.
   *
   * @param path the path of the file
   * @param name the name to save it under; default: the file's own
   * @throws `E_NOT_FOUND` if the file doesn't exist
   */
  download(path: string, name?: string): Promise<this>;
  download(source: string | Uint8Array<ArrayBuffer>, name?: string): this | Promise<this> {
    if (typeof source !== "string") return this.#attach(source, source.byteLength, name ?? "");
    return readFileBytes(source).then((file) => this.#attachFile(file, name ?? basename(source)));
  }

  #attachFile(file: FileBytes, name: string): this {
    const { length } = file;
    if (this.chosenStatus !== null) return this.#attach(this.#streaming(file.read(0, length)), length, name);
    const { status, headers, bytes } = selectFromFile(
      this.context.request,
      file,
      this.headerValue("etag") ?? undefined,
    );
    for (const [field, value] of headers) this.header(field, value);
    if (status !== 200) this.status(status);
    if (bytes === null) return this.#content(null);
    return this.#attach(this.#streaming(file.read(bytes.start, bytes.end)), bytes.end - bytes.start, name);
  }

  /**
   * Redirects (302, unless `status` is called afterwards) to a path of this application, or to an absolute URL of an
   * origin in `APP.trustedOrigins`. A path is prefixed with the path of `APP_URL`, unless it begins with it already.
   * The application's own absolute URLs are reduced to their path. A target from input needs no further check, because
   * a target that leads elsewhere is replaced with the fallback.
   *
   * @param target such as `/orders?page=2`
   * @param fallback the destination if the target leaves the application; chosen by the application, and not checked
   */
  redirect(target: unknown, fallback = "/"): this {
    return this.#location(absoluteTarget(this.context, target) ?? this.#own(redirectTarget(target, fallback)));
  }

  /**
   * Redirects to a named route.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`; `E_INVALID_REDIRECT` if a
   *   parameter makes the URL begin with two slashes
   */
  redirectToRoute(name: string, parameters?: RouteParameters, query?: QueryParameters): this {
    const target = this.context.services.urls.to(name, parameters, query);
    checkRouteTarget(name, target);
    return this.#location(target);
  }

  /**
   * Redirects to the page that the request came from, if it belongs to this application or to an origin in
   * `APP.trustedOrigins`.
   *
   * @param fallback the destination otherwise; chosen by the application, and not checked
   */
  back(fallback = "/"): this {
    const target = absoluteTarget(this.context, this.context.request.header("referer"));
    return this.#location(target ?? this.#own(fallback));
  }

  #own(path: string): string {
    return this.context.services.urls.url(path);
  }

  /**
   * Redirects to any other site. No other method does.
   *
   * Security: never pass input, or anyone can use links to the application to lead to any site.
   *
   * @param url an absolute http or https URL
   * @throws `E_INVALID_REDIRECT` for anything else
   */
  away(url: string | URL): this {
    const target = externalTarget(url);
    const { request, services } = this.context;
    const { redirectWarnings = null } = services;
    if (redirectWarnings !== null && request.raw.method === "POST") {
      redirectWarnings.look(request.route(), this.headerValue("content-security-policy") ?? "", target);
    }
    return this.#location(target);
  }

  /**
   * Removes the status, the content, and the headers that describe it (`ETag`, `Location`, `Content-…`), so that something
   * else can be sent, such as an error. Cookies and all other headers stay.
   */
  forgetContent(): this {
    this.#content(null);
    this.#hasContent = false;
    this.forgetHead();
    return this;
  }

  /** Builds the response; 204 if neither content nor status was set. */
  toResponse(): Response {
    const status = this.chosenStatus ?? (this.#hasContent ? 200 : 204);
    if (!WITHOUT_BODY.has(status)) this.#handedOver = this.#body;
    return this.#build(status, this.#body, this.#contentHeaders);
  }

  /**
   * Builds a response with other content, and the status, headers and cookies set here.
   *
   * @param type the `Content-Type` unless a header sets it
   */
  respond(body: string, type: string): Response {
    this.#dropBody();
    return this.#build(this.chosenStatus ?? 200, body, [["content-type", type]]);
  }

  /**
   * Adds the headers that a platform's response lacks, and the cookies.
   *
   * Security: they are added to a copy, because a response that is kept and returned again must not contain another
   * visitor's cookies. Only a response that the framework has just created isn't copied, because reading its body would
   * lose its shortcut to the socket.
   */
  mergeInto(response: Response): Response {
    this.#dropBody();
    const isFresh = response instanceof FreshResponse;
    const headers = isFresh ? response.headers : new Headers(response.headers);
    this.addTo(headers);
    if (isFresh) return response;
    return new FastResponse(response.body, { status: response.status, statusText: response.statusText, headers });
  }

  #build(status: number, body: Body, contentHeaders: readonly (readonly [string, string])[]): Response {
    if (!WITHOUT_BODY.has(status)) return new FastResponse(body, { status, headers: this.pairs(contentHeaders) });
    this.#dropBody();
    return new FastResponse(null, { status, headers: this.pairs(NO_HEADERS) });
  }

  #content(body: Body, ...contentHeaders: readonly (readonly [string, string])[]): this {
    this.#dropBody();
    this.#body = body;
    this.#contentHeaders = contentHeaders;
    this.#hasContent = true;
    return this;
  }

  /** Converts a stream into a body whose source is closed with the response at the latest. */
  #streaming({ stream, close }: ByteStream): ReadableStream {
    closeWithResponse(this.context.request.raw, close);
    return stream;
  }

  /** Closes the source of a body that is not sent. */
  #dropBody(): void {
    if (this.#body instanceof ReadableStream && this.#body !== this.#handedOver) this.#body.cancel().catch(() => {});
    this.#body = null;
  }

  #attach(body: Body, length: number, name: string): this {
    return this.#content(
      body,
      ["content-type", "application/octet-stream"],
      ["content-disposition", attachment(name)],
      ["content-length", String(length)],
    );
  }

  #location(target: string): this {
    return this.status(302).header("location", asciiTarget(target)).#content(null);
  }
}
