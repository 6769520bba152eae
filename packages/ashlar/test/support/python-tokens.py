"""Verifies and signs tokens with a Python library: one JSON document on standard input, one on standard output."""

import json
import sys


def with_pyjwt():
    import jwt

    def verify(token, key, algorithm):
        return jwt.decode(token, key, algorithms=[algorithm])

    def sign(claims, key, algorithm, header):
        return jwt.encode(claims, key, algorithm=algorithm, headers=header)

    def verify_by_set(token, document, algorithm):
        named = jwt.get_unverified_header(token)["kid"]
        key = next(key for key in jwt.PyJWKSet.from_dict(document).keys if key.key_id == named)
        return verify(token, key.key, algorithm)

    def verify_by_url(token, url, algorithm):
        return verify(token, jwt.PyJWKClient(url).get_signing_key_from_jwt(token).key, algorithm)

    return verify, sign, verify_by_set, verify_by_url


def with_authlib():
    from authlib.jose import JsonWebKey, JsonWebSignature, JsonWebToken
    from authlib.jose.rfc8037 import register_jws_rfc8037

    register_jws_rfc8037(JsonWebSignature)

    def verify(token, key, algorithm):
        return dict(JsonWebToken([algorithm]).decode(token, key))

    def sign(claims, key, algorithm, header):
        return JsonWebToken([algorithm]).encode({"alg": algorithm, **header}, claims, key).decode()

    def verify_by_set(token, document, algorithm):
        return verify(token, JsonWebKey.import_key_set(document), algorithm)

    return verify, sign, verify_by_set, None


def outcome(work, *arguments):
    """What a call returns, or the name of its error."""
    try:
        return {"value": work(*arguments)}
    except Exception as error:
        return {"error": type(error).__name__}


def main():
    verify, sign, verify_by_set, verify_by_url = {"jwt": with_pyjwt, "authlib": with_authlib}[sys.argv[1]]()
    results = []
    for one in json.load(sys.stdin):
        algorithm = one["algorithm"]
        result = {}
        if "private" in one:
            result["token"] = outcome(sign, one["claims"], one["private"], algorithm, one["header"])
        if "public" in one:
            result["verified"] = outcome(verify, one["token"], one["public"], algorithm)
            result["forged"] = outcome(verify, one["forged"], one["public"], algorithm)
        if "set" in one:
            result["bySet"] = outcome(verify_by_set, one["token"], one["set"], algorithm)
        if "url" in one and verify_by_url is not None:
            result["byUrl"] = outcome(verify_by_url, one["token"], one["url"], algorithm)
        results.append(result)
    json.dump(results, sys.stdout)


main()
