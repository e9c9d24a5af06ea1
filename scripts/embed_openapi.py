#!/usr/bin/env python3
"""embed_openapi.py OPENAPI.YAML OUT.CPP: writes the API's description as JSON into a C++ source
(src/api/routes/description.hpp)."""
import json
import sys

import yaml


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # The standard guarantees string literals of 65,536 bytes only, so the text is written in pieces.
    pieces = [text[at : at + 4000] for at in range(0, len(text), 4000)]
    with open(target, "w", encoding="utf-8") as file:
        file.write('#include "api/routes/description.hpp"\n\n#include <string>\n\nnamespace hapax::api {\n\n')
        file.write("std::string_view openapi_json() {\n  static const std::string text = [] {\n    std::string whole;\n")
        for piece in pieces:
            file.write(f'    whole += R"openapi({piece})openapi";\n')
        file.write("    return whole;\n  }();\n  return text;\n}\n\n}  // namespace hapax::api\n")


main(*sys.argv[1:])
