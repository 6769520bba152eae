/** An answer as it goes to a socket: the headers as a flat list of names and values. */
export interface PreparedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string[];
  readonly body: unknown;
}

/** A response of srvx gives itself to `node:http`, the length of its body included. */
type Preparable = Response & { _toNodeResponse?(): PreparedResponse };

/** Takes a response apart to be sent. One of srvx has nothing left afterwards. */
export function prepare(response: Preparable): PreparedResponse {
  return response._toNodeResponse?.() ?? prepareOfPlatform(response);
}

function prepareOfPlatform({ status, statusText, headers, body }: Response): PreparedResponse {
  return { status, statusText, headers: [...headers].flat(), body };
}

/** Lets go of a body that nobody will read, and of what it holds open. */
export function discard(body: unknown): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {});
  else if (typeof body === "object" && body !== null && "destroy" in body) (body as { destroy(): void }).destroy();
}
