def path(route, view):
    return route, view
