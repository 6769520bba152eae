/** A class of the platform that srvx has a faster version of. */
export type PlatformClass = "Headers" | "Request" | "Response";

/** Members that srvx's objects have only by inheritance. */
export const INHERITED: Readonly<Record<PlatformClass, readonly string[]>> = {
  Headers: ["append", "delete", "set", "keys", "values", "forEach"],
  Request: [
    ..."attribute cache clone credentials destination duplex integrity isHistoryNavigation isReloadNavigation".split(
      " ",
    ),
    ..."keepalive mode redirect referrer referrerPolicy textStream".split(" "),
  ],
  Response: [
    ..."arrayBuffer blob body bodyUsed bytes clone formData json redirected text textStream type url".split(" "),
  ],
};

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Makes a class inherit from one of the platform as soon as that matters: when code reads an inherited member of an
 * object, or its prototypes, as `instanceof` does. Before, it passes for that class by its `Symbol.toStringTag`.
 *
 * Node.js loads its `fetch` with the first mention of `Response`, `Request` or `Headers`: in 40 ms, for 17 MB. The build
 * makes srvx use this function, since most servers never need it.
 *
 * @param name the class of the platform
 * @param late the class that inherits from it
 * @param inherit makes it inherit, which includes its prototype
 */
export function inheritLate(name: PlatformClass, late: { readonly prototype: object }, inherit: () => void): void {
  const { prototype } = late;
  const standIn: object = Object.create(
    // Not Object.prototype itself: with --frozen-intrinsics, a proxy of it has to report its real prototype.
    new Proxy(
      {},
      {
        getPrototypeOf() {
          link();
          return Object.getPrototypeOf(prototype) as object;
        },
      },
    ),
    // Resolving a promise looks for `then` in the value: finding it here spares the proxy.
    // biome-ignore lint/suspicious/noThenProperty: it has no value, so nothing takes the object for a promise.
    { [Symbol.toStringTag]: { value: name }, then: { value: undefined } },
  );
  for (const member of [...INHERITED[name], INSPECT]) {
    Object.defineProperty(standIn, member, {
      get(this: object): unknown {
        link();
        return Reflect.get(prototype, member, this);
      },
    });
  }
  Object.setPrototypeOf(prototype, standIn);

  function link(): void {
    if (Object.getPrototypeOf(prototype) === standIn) inherit();
  }
}
